// Matrix products: a thread for each element of the result, a loop over what is summed.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace products {
namespace {

/// y[batch..., m, n] = sum over k of a[batch..., m, k] * b[batch..., k, n] (+ bias), all views.
struct Product {
  Tensor a, b, y;
  std::optional<Tensor> bias;  ///< repeated to y's shape
  double alpha = 1, beta = 1;
};

void write_product(Call& call, std::string_view name, Product product) {
  Sizes& sizes = call.to.sizes;
  const std::size_t rank = product.y.shape.size();
  const Dim k = product.a.shape[rank - 1];
  sizes.unify(k, product.b.shape[rank - 2]);
  Kernel kernel(call.to, std::string(name), "y = a b, one thread an element.");
  const auto a = kernel.in("a", product.a);
  const auto b = kernel.in("b", product.b);
  std::optional<Kernel::Operand> bias;
  if (product.bias) bias = kernel.in("bias", *product.bias);
  const auto y = kernel.out("y", product.y);
  std::vector<std::pair<std::string, Dim>> extents;
  static const char* const kNames[] = {"d", "e", "f", "g", "h", "l"};
  if (rank > 8) refuse("has more than 8 dimensions");
  for (std::size_t i = 0; i + 2 < rank; ++i) extents.emplace_back(kNames[i], product.y.shape[i]);
  extents.emplace_back("m", product.y.shape[rank - 2]);
  extents.emplace_back("n", product.y.shape[rank - 1]);
  const Indices at = kernel.each(extents);
  const std::string count = kernel.size("K", k);
  const Sum sum(kernel, product.y.type, sizes.value(k));
  sum.begin("sum");
  kernel.loop("k", count);
  Indices in_a = at, in_b = at;
  in_a[rank - 1] = "k";
  in_b[rank - 2] = "k";
  kernel.line(sum.add("sum", kernel.load(a, in_a), kernel.load(b, in_b)));
  kernel.end();
  std::string value = sum.value("sum");
  if (product.alpha != 1)
    value = fmt::format("{} * {}", literal(product.alpha, product.y.type), value);
  if (bias && product.beta != 0) {
    std::string more = kernel.load(*bias, at);
    if (product.beta != 1)
      more = fmt::format("{} * {}", literal(product.beta, product.y.type), more);
    value += " + " + more;
  }
  kernel.store(y, at, stored_as(product.y.type, value));
  kernel.launch();
}

/// PyTorch's matmul: batches are repeated, a vector is a row on the left and a column on the right.
void multiply(Call& call, Tensor a, Tensor b, std::string_view name,
              std::optional<Tensor> bias = std::nullopt, double alpha = 1, double beta = 1) {
  Sizes& sizes = call.to.sizes;
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (a.rank() == 0 || b.rank() == 0) refuse("multiplies a number");
  if (row) {
    a.shape.insert(a.shape.begin(), 1);
    a.strides.insert(a.strides.begin(), 0);
  }
  if (column) {
    b.shape.emplace_back(1);
    b.strides.emplace_back(0);
  }
  const std::vector<Dim> batch =
      broadcast(sizes, {a.shape.begin(), a.shape.end() - 2}, {b.shape.begin(), b.shape.end() - 2});
  const Dim m = a.shape[a.shape.size() - 2], k = a.shape.back(), n = b.shape.back();
  sizes.unify(k, b.shape[b.shape.size() - 2]);
  std::vector<Dim> whole = batch, of_a = batch, of_b = batch;
  whole.insert(whole.end(), {m, n});
  of_a.insert(of_a.end(), {m, k});
  of_b.insert(of_b.end(), {k, n});
  std::vector<Dim> given = batch;
  if (!row) given.push_back(m);
  if (!column) given.push_back(n);
  Product product;
  const Tensor result = call.make(given);
  product.y = result;
  product.y.shape = whole;
  product.y.strides = dense_strides(whole);
  product.a = expanded(sizes, a, of_a);
  product.b = expanded(sizes, b, of_b);
  if (bias) {
    broadcast(sizes, whole, bias->shape);
    product.bias = expanded(sizes, *bias, whole);
  }
  product.alpha = alpha;
  product.beta = beta;
  write_product(call, name, product);
}

void linear(Call& call) {
  Tensor x = call.tensor("input"), weight = call.tensor("weight");
  if (weight.rank() == 1) return multiply(call, x, weight, "linear", call.maybe_tensor("bias"));
  multiply(call, x, permuted(weight, {1, 0}), "linear", call.maybe_tensor("bias"));
}

void matmul(Call& call) { multiply(call, call.tensor("self"), call.tensor("other"), "matmul"); }
void mm(Call& call) { multiply(call, call.tensor("self"), call.tensor("mat2"), "matmul"); }
void mv(Call& call) { multiply(call, call.tensor("self"), call.tensor("vec"), "matvec"); }
void dot(Call& call) { multiply(call, call.tensor("self"), call.tensor("tensor"), "dot"); }

/// a[m] b[n] -> [m, n]: products of one term.
void outer(Call& call) {
  Tensor a = call.tensor("self"), b = call.tensor(call.has("vec2") ? "vec2" : "other");
  if (a.rank() != 1 || b.rank() != 1) refuse("has {} and {} dimensions", a.rank(), b.rank());
  const std::vector<Dim> shape = {a.shape[0], b.shape[0]};
  a.shape = b.shape = shape;
  a.strides.emplace_back(0);
  b.strides.insert(b.strides.begin(), 0);
  const Tensor result = call.make(shape);
  Kernel kernel(call.to, "outer", "");
  const auto left = kernel.in("a", a), right = kernel.in("b", b);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each({{"m", shape[0]}, {"n", shape[1]}});
  kernel.store(
      y, at,
      stored_as(result.type,
                fmt::format("{} * {}", converted(kernel.load(left, at), a.type, result.type),
                            converted(kernel.load(right, at), b.type, result.type))));
  kernel.launch();
}

void addmm(Call& call) {
  multiply(call, call.tensor("mat1"), call.tensor("mat2"), "addmm", call.tensor("self"),
           call.number("alpha", 1), call.number("beta", 1));
}
void baddbmm(Call& call) {
  multiply(call, call.tensor("batch1"), call.tensor("batch2"), "baddbmm", call.tensor("self"),
           call.number("alpha", 1), call.number("beta", 1));
}

void addmv(Call& call) {
  Tensor self = call.tensor("self");  // a column, as the product is
  self.shape.emplace_back(1);
  self.strides.emplace_back(0);
  multiply(call, call.tensor("mat"), call.tensor("vec"), "addmv", self, call.number("alpha", 1),
           call.number("beta", 1));
}

/// self + the product of a column and a row.
void addr(Call& call) {
  Tensor column = call.tensor("vec1"), row = call.tensor("vec2");
  if (column.rank() != 1 || row.rank() != 1) refuse("has vectors of other dimensions");
  column.shape.emplace_back(1);
  column.strides.emplace_back(0);
  row.shape.insert(row.shape.begin(), 1);
  row.strides.insert(row.strides.begin(), 0);
  multiply(call, column, row, "addr", call.tensor("self"), call.number("alpha", 1),
           call.number("beta", 1));
}

/// The vector that is orthogonal to two of three elements each, along one dimension.
void cross(Call& call) {
  Sizes& sizes = call.to.sizes;
  Tensor a = call.tensor("self"), b = call.tensor("other");
  const std::vector<Dim> shape = broadcast(sizes, a.shape, b.shape);
  const auto rank = static_cast<int>(shape.size());
  const bool first_of_three = call.target() == "aten.cross.default" && !call.has("dim");
  std::size_t axis = 0;
  if (first_of_three) {
    while (axis < shape.size() && sizes.value(shape[axis]) != 3) ++axis;
  } else {
    axis = static_cast<std::size_t>(Call::axis(call.whole("dim", -1), rank));
  }
  if (axis >= shape.size() || sizes.value(shape[axis]) != 3)
    refuse("has no dimension of 3 elements");
  sizes.freeze(shape[axis]);
  const Tensor result = call.make(shape);
  a = expanded(sizes, a, shape);
  b = expanded(sizes, b, shape);
  Kernel kernel(call.to, "cross", "");
  const auto left = kernel.in("a", a), right = kernel.in("b", b);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  Indices next = at, last = at;
  next[axis] = fmt::format("(({} + 1) % 3)", at[axis]);
  last[axis] = fmt::format("(({} + 2) % 3)", at[axis]);
  kernel.store(y, at,
               stored_as(result.type, fmt::format("{} * {} - {} * {}", kernel.load(left, next),
                                                  kernel.load(right, last), kernel.load(left, last),
                                                  kernel.load(right, next))));
  kernel.launch();
}

constexpr Operation kOperations[] = {
    {"aten.linear.default", linear},
    {"aten.matmul.default", matmul},
    {"aten.mm.default", mm},
    {"aten.bmm.default", mm},
    {"aten.mv.default", mv},
    {"aten.dot.default", dot},
    {"aten.outer.default", outer},
    {"aten.addmm.default", addmm},
    {"aten.baddbmm.default", baddbmm},
    {"aten.addmv.default", addmv},
    {"aten.addr.default", addr},
    {"aten.cross.default", cross},
    {"aten.linalg_cross.default", cross},
};

}  // namespace
}  // namespace products

std::span<const Operation> product_operations() { return products::kOperations; }

}  // namespace hone::pytorch
