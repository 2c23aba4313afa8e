// Distances and angles between rows: a thread for each pair.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/operations/reduced.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace distances {
namespace {

/// Two tensors repeated to one shape, of which one dimension is gone from the result.
struct Pair {
  Tensor first, second;
  Dim length;
  std::vector<Dim> shape;
  std::size_t axis = 0;
};

Pair pair_of(Call& call, std::int64_t dim) {
  Sizes& sizes = call.to.sizes;
  Pair pair;
  pair.first = call.tensor("x1");
  pair.second = call.tensor("x2");
  pair.shape = broadcast(sizes, pair.first.shape, pair.second.shape);
  if (pair.shape.empty()) refuse("has no rows");
  pair.axis = static_cast<std::size_t>(Call::axis(dim, static_cast<int>(pair.shape.size())));
  pair.first = expanded(sizes, pair.first, pair.shape);
  pair.second = expanded(sizes, pair.second, pair.shape);
  pair.length = pair.shape[pair.axis];
  pair.shape.erase(pair.shape.begin() + static_cast<std::ptrdiff_t>(pair.axis));
  return pair;
}

Indices along(const Pair& pair, Indices at) {
  at.insert(at.begin() + static_cast<std::ptrdiff_t>(pair.axis), "j");
  return at;
}

void cosine_similarity(Call& call) {
  const Pair pair = pair_of(call, call.whole("dim", 1));
  const Tensor result = call.make(pair.shape);
  const ScalarType type = result.type;
  const bool wide = type == ScalarType::kF64;
  const std::string real(computed_in(type)), f = wide ? "" : "f";
  Kernel kernel(call.to, "cosine_similarity", "One thread for each pair of rows.");
  const auto a = kernel.in("x1", pair.first);
  const auto b = kernel.in("x2", pair.second);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result), in = along(pair, at);
  const Sum sum(kernel, type, call.to.sizes.value(pair.length));
  for (const char* name : {"both", "first", "second"}) sum.begin(name);
  kernel.loop("j", kernel.size("count", pair.length));
  kernel.line(fmt::format("{} va = {}, vb = {};", real, kernel.load(a, in), kernel.load(b, in)));
  kernel.line(sum.add("both", "va", "vb"));
  kernel.line(sum.add("first", "va", "va"));
  kernel.line(sum.add("second", "vb", "vb"));
  kernel.end();
  const std::string eps = literal(call.number("eps", 1e-8), type);
  for (const auto& [name, square] : {std::pair{"n1", "first"}, {"n2", "second"}}) {
    kernel.line(fmt::format("{} {} = sqrt{}({});", real, name, f, sum.value(square)));
    kernel.line(fmt::format("if ({0} < {1}) {0} = {1};", name, eps));
  }
  kernel.store(y, at, stored_as(type, fmt::format("{} / (n1 * n2)", sum.value("both"))));
  kernel.launch();
}

/// "sum += ..." of the norm of `difference`, and what is made of the sum.
std::string norm_step(const Sum& sum, double p, bool wide, const std::string& difference) {
  if (p == 2) return sum.add("sum", difference, difference);
  if (p == 1) return sum.add("sum", fmt::format("fabs{}{}", wide ? "" : "f", difference));
  refuse("takes distances of order {}; hone has 1 and 2", p);
}
std::string norm_of(const Sum& sum, double p, bool wide) {
  return p == 1 ? sum.value("sum") : fmt::format("sqrt{}({})", wide ? "" : "f", sum.value("sum"));
}

void pairwise_distance(Call& call) {
  const Pair pair = pair_of(call, -1);
  std::vector<Dim> shape = pair.shape;
  const bool keep = call.flag("keepdim", false);
  if (keep) shape.emplace_back(1);
  Tensor result = call.make(shape);
  if (keep) {
    result.shape.pop_back();
    result.strides.pop_back();
  }
  const double p = call.number("p", 2);
  const bool wide = result.type == ScalarType::kF64;
  Kernel kernel(call.to, "pairwise_distance", "One thread for each pair of rows.");
  const auto a = kernel.in("x1", pair.first);
  const auto b = kernel.in("x2", pair.second);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result), in = along(pair, at);
  const Sum sum(kernel, result.type, call.to.sizes.value(pair.length));
  sum.begin("sum");
  kernel.loop("j", kernel.size("count", pair.length));
  kernel.line(fmt::format("{} v = {} - {} + {};", computed_in(result.type), kernel.load(a, in),
                          kernel.load(b, in), literal(call.number("eps", 1e-6), result.type)));
  kernel.line(norm_step(sum, p, wide, "(v)"));
  kernel.end();
  kernel.store(y, at, stored_as(result.type, norm_of(sum, p, wide)));
  kernel.launch();
}

/// x1[..., m, k], x2[..., n, k] -> [..., m, n]
void cdist(Call& call) {
  Sizes& sizes = call.to.sizes;
  Tensor first = call.tensor("x1"), second = call.tensor("x2");
  if (first.rank() < 2 || second.rank() < 2) refuse("has no rows");
  const std::vector<Dim> batch = broadcast(sizes, {first.shape.begin(), first.shape.end() - 2},
                                           {second.shape.begin(), second.shape.end() - 2});
  const Dim m = first.shape[first.shape.size() - 2], n = second.shape[second.shape.size() - 2];
  const Dim length = first.shape.back();
  sizes.unify(length, second.shape.back());
  std::vector<Dim> of_first = batch, of_second = batch, shape = batch;
  of_first.insert(of_first.end(), {m, length});
  of_second.insert(of_second.end(), {n, length});
  shape.insert(shape.end(), {m, n});
  const Tensor result = call.make(shape);
  const double p = call.number("p", 2);
  const bool wide = result.type == ScalarType::kF64;
  Kernel kernel(call.to, "cdist", "One thread for each pair of rows.");
  const auto a = kernel.in("x1", expanded(sizes, first, of_first));
  const auto b = kernel.in("x2", expanded(sizes, second, of_second));
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  Indices in_a = at, in_b = at;
  in_a.back() = in_b.back() = "j";
  in_b[in_b.size() - 2] = at.back();
  const Sum sum(kernel, result.type, sizes.value(length));
  sum.begin("sum");
  kernel.loop("j", kernel.size("count", length));
  kernel.line(fmt::format("{} v = {} - {};", computed_in(result.type), kernel.load(a, in_a),
                          kernel.load(b, in_b)));
  kernel.line(norm_step(sum, p, wide, "(v)"));
  kernel.end();
  kernel.store(y, at, stored_as(result.type, norm_of(sum, p, wide)));
  kernel.launch();
}

constexpr Operation kOperations[] = {
    {"aten.cosine_similarity.default", cosine_similarity},
    {"aten.pairwise_distance.default", pairwise_distance},
    {"aten.cdist.default", cdist},
};

}  // namespace
}  // namespace distances

std::span<const Operation> distance_operations() { return distances::kOperations; }

}  // namespace hone::pytorch
