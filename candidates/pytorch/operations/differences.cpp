// Operators on neighbours along one dimension: differences, and the area below a curve.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace differences {
namespace {

/// Elements from `first` on, so many fewer than there are.
Tensor without(Tensor tensor, std::size_t axis, std::int64_t first, std::int64_t fewer) {
  tensor.offset += Dim(first) * tensor.strides[axis];
  tensor.shape[axis] += Dim(-fewer);
  return tensor;
}

/// With what `prepend` and `append` put before and behind it.
Tensor joined(Call& call, const Tensor& self, std::size_t axis) {
  std::vector<Tensor> pieces = {self};
  if (const auto before = call.maybe_tensor("prepend")) pieces.insert(pieces.begin(), *before);
  if (const auto after = call.maybe_tensor("append")) pieces.push_back(*after);
  if (pieces.size() == 1) return self;
  std::vector<Dim> shape = self.shape;
  shape[axis] = 0;
  for (const Tensor& piece : pieces) {
    if (piece.rank() != self.rank() || piece.type != self.type) {
      refuse("joins tensors of other dimensions or types");
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i != axis) call.to.sizes.unify(shape[i], piece.shape[i]);
    }
    shape[axis] += piece.shape[axis];
  }
  const Tensor whole = call.between(self.type, shape, "joined");
  Dim begin = 0;
  for (const Tensor& piece : pieces) {
    Tensor part = whole;
    part.offset += begin * whole.strides[axis];
    part.shape[axis] = piece.shape[axis];
    call.to.copy(piece, part, "join", "One of the tensors into its part of the whole.");
    begin += piece.shape[axis];
  }
  return whole;
}

/// The `n`-th difference: each time of an element and the next one, of bools whether they differ.
void diff(Call& call) {
  const Tensor self = call.tensor("self");
  if (self.rank() == 0) refuse("takes differences of a number");
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim", -1), self.rank()));
  const std::int64_t times = call.whole("n", 1);
  Tensor from = joined(call, self, axis);
  if (times < 1 || times >= call.to.sizes.value(from.shape[axis])) {
    refuse("takes {} differences of {} elements", times, call.to.sizes.value(from.shape[axis]));
  }
  for (std::int64_t i = 0; i < times; ++i) {
    const Tensor before = without(from, axis, 0, 1), after = without(from, axis, 1, 1);
    const Tensor result = i + 1 == times ? call.make(before.shape)
                                         : call.between(self.type, before.shape, "differences");
    Kernel kernel(call.to, "diff", "");
    const auto a = kernel.in("before", before), b = kernel.in("after", after);
    const auto y = kernel.out("y", result);
    const Indices at = kernel.each_element(result);
    kernel.store(y, at,
                 stored_as(self.type, fmt::format("{} {} {}", kernel.load(b, at),
                                                  self.type == ScalarType::kBool ? "!=" : "-",
                                                  kernel.load(a, at))));
    kernel.launch();
    from = result;
  }
}

/// The area below a curve whose points are `dx` apart.
void trapezoid(Call& call) {
  const Tensor self = call.tensor("y");
  if (self.rank() == 0) refuse("takes the area below a number");
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim", -1), self.rank()));
  if (call.to.sizes.value(self.shape[axis]) < 2) refuse("takes the area below one point");
  if (!is_float(self.type)) refuse("takes the area below {}", torch_name(self.type));
  std::vector<Dim> shape = self.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const Tensor result = call.make(shape);
  Kernel kernel(call.to, "trapezoid", "One thread for each result.");
  const auto x = kernel.in("x", self);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  const std::string type(computed_in(self.type));
  Indices before = at, after = at;
  before.insert(before.begin() + static_cast<std::ptrdiff_t>(axis), "k");
  after.insert(after.begin() + static_cast<std::ptrdiff_t>(axis), "(k + 1)");
  kernel.line(fmt::format("{} sum = 0;", type));
  kernel.loop("k", kernel.size("steps", self.shape[axis] - 1));
  kernel.line(fmt::format("sum += {} + {};", kernel.load(x, before), kernel.load(x, after)));
  kernel.end();
  kernel.store(
      y, at,
      stored_as(self.type, fmt::format("sum * {}", literal(call.number("dx", 1) / 2, self.type))));
  kernel.launch();
}

constexpr Operation kOperations[] = {
    {"aten.diff.default", diff},
    {"aten.trapezoid.dx", trapezoid},
    {"aten.trapz.dx", trapezoid},
};

}  // namespace
}  // namespace differences

std::span<const Operation> difference_operations() { return differences::kOperations; }

}  // namespace hone::pytorch
