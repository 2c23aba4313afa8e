// Softmax and what is made like it: a thread for each row, which goes over it three times.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/operations/reduced.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace softmaxes {
namespace {

/// A row along one dimension: where its elements are, with the other dimensions merged.
struct Rows {
  Reduced x;
  Tensor y;  ///< like x.all
};

Rows rows_of(Call& call, const Tensor& from, int axis, const Tensor& to) {
  const std::vector<int> axes = from.rank() == 0 ? std::vector<int>{} : std::vector<int>{axis};
  std::vector<int> order;
  for (int i = 0; i < from.rank(); ++i) {
    if (i != axis) order.push_back(i);
  }
  if (from.rank() > 0) order.push_back(axis);
  Rows rows;
  Tensor x = permuted(from, order);
  rows.y = permuted(to, order);
  if (from.rank() == 0) {
    for (Tensor* tensor : {&x, &rows.y}) {
      tensor->shape.emplace_back(1);
      tensor->strides.emplace_back(0);
    }
  }
  // All but the last dimension.
  Tensor outer_x = x, outer_y = rows.y;
  for (Tensor* tensor : {&outer_x, &outer_y}) {
    tensor->shape.pop_back();
    tensor->strides.pop_back();
  }
  if (!outer_x.shape.empty()) merge_dimensions(call.to.sizes, {&outer_x, &outer_y});
  const auto join = [](Tensor outer, const Tensor& whole) {
    outer.shape.push_back(whole.shape.back());
    outer.strides.push_back(whole.strides.back());
    return outer;
  };
  rows.x.all = join(outer_x, x);
  rows.y = join(outer_y, rows.y);
  rows.x.kept = outer_x;
  return rows;
}

/// The argument in the result's type, where it is another one.
Tensor converted(Call& call) {
  const Tensor from = call.tensor("self");
  if (from.type == call.type()) return from;
  const Tensor to = call.between(call.type(), from.shape, "converted");
  Kernel kernel(call.to, "convert", "");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", to);
  const Indices at = kernel.each_element(to);
  kernel.store(
      y, at, stored_as(to.type, fmt::format("({})({})", computed_in(to.type), kernel.load(x, at))));
  kernel.launch();
  return to;
}

/// `logarithm`: log_softmax.
void write_softmax(Call& call, bool logarithm) {
  Tensor from = converted(call);
  const int axis = Call::axis(call.whole("dim"), from.rank());
  const Tensor to = call.make(from.shape);
  const Rows rows = rows_of(call, from, axis, to);
  Kernel kernel(call.to, logarithm ? "log_softmax" : "softmax", "One thread for each row.");
  const auto x = kernel.in("x", rows.x.all);
  const auto y = kernel.out("y", rows.y);
  const Indices at = kernel.each_element(rows.x.kept);
  const std::string count = kernel.size("count", rows.x.all.shape.back());
  Indices in = at;
  in.emplace_back("j");
  const bool wide = from.type == ScalarType::kF64;
  const std::string type(computed_in(from.type)), f = wide ? "" : "f";
  const auto load = [&] { return kernel.load(x, in); };
  const Sum sum(kernel, from.type, call.to.sizes.value(rows.x.all.shape.back()));
  kernel.line(fmt::format("{} largest = -INFINITY;", type));
  kernel.loop("j", count);
  kernel.line(fmt::format("largest = fmax{}(largest, {});", f, load()));
  kernel.end();
  sum.begin("sum");
  kernel.loop("j", count);
  kernel.line(sum.add("sum", fmt::format("exp{}({} - largest)", f, load())));
  kernel.end();
  if (logarithm) {
    kernel.line(fmt::format("{} log_sum = log{}({});", type, f, sum.value("sum")));
  } else if (sum.is_long()) {
    kernel.line(fmt::format("{} total = {};", type, sum.value("sum")));
  }
  kernel.loop("j", count);
  kernel.store(y, in,
               stored_as(to.type, logarithm ? fmt::format("{} - largest - log_sum", load())
                                            : fmt::format("exp{}({} - largest) / {}", f, load(),
                                                          sum.is_long() ? "total" : "sum")));
  kernel.end();
  kernel.launch();
}

void softmax(Call& call) { write_softmax(call, false); }
void log_softmax(Call& call) { write_softmax(call, true); }

/// log(sum of exp(x)) over some dimensions.
void logsumexp(Call& call) {
  const Tensor from = converted(call);
  const auto axes = call.axes("dim", from.rank());
  const Reduced parts = reduced(call.to.sizes, from, axes);
  Tensor to = call.make(reduced_shape(from, axes, call.flag("keepdim", false)));
  to.shape = parts.kept.shape;
  to.strides = dense_strides(parts.kept.shape);
  Kernel kernel(call.to, "logsumexp", "One thread for each result.");
  const auto x = kernel.in("x", parts.all);
  const auto y = kernel.out("y", to);
  const Indices at = kernel.each_element(to);
  const auto loop = [&](const auto& body) {
    int open = 0;
    Indices in = at;
    for (const std::string& index : loop_over(kernel, parts, 0, open)) in.push_back(index);
    body(kernel.load(x, in));
    while (open-- > 0) kernel.end();
  };
  const std::string type(computed_in(from.type)), f = from.type == ScalarType::kF64 ? "" : "f";
  const Sum sum(kernel, from.type, call.to.sizes.value(parts.gone.elements()));
  // NaN stays; with an infinity among the elements, the differences would be NaN.
  kernel.line(fmt::format("{} largest = -INFINITY;", type));
  loop([&](const std::string& element) {
    kernel.line(fmt::format("{} v = {};", type, element));
    kernel.line("largest = v > largest || v != v ? v : largest;");
  });
  sum.begin("sum");
  loop([&](const std::string& element) {
    kernel.line(sum.add("sum", fmt::format("exp{}({} - largest)", f, element)));
  });
  kernel.store(y, at,
               stored_as(to.type, fmt::format("fabs{0}(largest) == INFINITY ? largest : largest + "
                                              "log{0}({1})",
                                              f, sum.value("sum"))));
  kernel.launch();
}

constexpr Operation kOperations[] = {
    {"aten.softmax.int", softmax},         {"aten._softmax.default", softmax},
    {"aten.log_softmax.int", log_softmax}, {"aten._log_softmax.default", log_softmax},
    {"aten.logsumexp.default", logsumexp},
};

}  // namespace
}  // namespace softmaxes

std::span<const Operation> softmax_operations() { return softmaxes::kOperations; }

}  // namespace hone::pytorch
