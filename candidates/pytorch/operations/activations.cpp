// Activations that need more than an element: gates of two halves, a slope for each channel, the
// root mean square of a row.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace activations {
namespace {

/// a * sigmoid(b), with a and b the halves along one dimension.
void glu(Call& call) {
  Sizes& sizes = call.to.sizes;
  const Tensor from = call.tensor("self");
  if (from.rank() == 0) refuse("halves a number");
  const auto i = static_cast<std::size_t>(Call::axis(call.whole("dim", -1), from.rank()));
  const std::int64_t now = sizes.value(from.shape[i]);
  if (now % 2 != 0) refuse("halves {} elements", now);
  const Dim half = sizes.fresh(call.name() + "_half", now / 2);
  sizes.unify(from.shape[i], half * Dim(2));
  Tensor a = from, b = from;
  a.shape[i] = b.shape[i] = half;
  b.offset += half * from.strides[i];
  const Tensor result = call.make(a.shape);
  Kernel kernel(call.to, "glu", "");
  const auto x = kernel.in("a_half", a);
  const auto gate = kernel.in("b_half", b);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  const bool wide = from.type == ScalarType::kF64;
  kernel.store(
      y, at,
      stored_as(result.type, wide ? fmt::format("{} / (1.0 + exp(-{}))", kernel.load(x, at),
                                                kernel.load(gate, at))
                                  : fmt::format("{} / (1.0f + expf(-{}))", kernel.load(x, at),
                                                kernel.load(gate, at))));
  kernel.launch();
}

void prelu(Call& call) {
  const Tensor from = call.tensor("self"), weight = call.tensor("weight");
  const Tensor result = call.make(from.shape);
  Tensor slopes = weight;
  slopes.shape = from.shape;
  slopes.strides.assign(from.shape.size(), 0);
  if (call.to.sizes.value(weight.elements()) > 1) {
    if (weight.rank() != 1 || from.rank() < 2)
      refuse("has a weight of {} dimensions", weight.rank());
    call.to.sizes.unify(weight.shape[0], from.shape[1]);
    slopes.strides[1] = weight.strides[0];
  }
  Kernel kernel(call.to, "prelu", "");
  const auto x = kernel.in("x", from);
  const auto slope = kernel.in("slope", slopes);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  const std::string zero = literal(0, from.type);
  kernel.line(fmt::format("{} v = {};", computed_in(from.type), kernel.load(x, at)));
  kernel.store(
      y, at,
      stored_as(result.type, fmt::format("v > {} ? v : v * {}", zero, kernel.load(slope, at))));
  kernel.launch();
}

/// x / sqrt(mean(x^2) + eps) * weight, over the last dimensions.
void rms_norm(Call& call) {
  Sizes& sizes = call.to.sizes;
  const Tensor from = call.to.dense(call.tensor("input"));
  const std::size_t normal = call.wholes("normalized_shape").size();
  if (normal == 0 || normal > from.shape.size()) refuse("normalises over {} dimensions", normal);
  if (call.is_used(1)) refuse("gives the scales of rows, which hone does not compute");
  const auto weight = call.maybe_tensor("weight");
  const bool half = from.type == ScalarType::kF16 || from.type == ScalarType::kBf16;
  if (!call.has("eps") && half) refuse("has no eps, of which PyTorch's default hangs on the type");
  const double eps = call.number("eps", from.type == ScalarType::kF64 ? 0x1p-52 : 0x1p-23);
  const std::size_t first = from.shape.size() - normal;
  Dim rows = 1, length = 1;
  for (std::size_t i = 0; i < from.shape.size(); ++i) {
    (i < first ? rows : length) *= from.shape[i];
    if (i >= first && weight) sizes.unify(from.shape[i], weight->shape[i - first]);
  }
  const auto as_rows = [&](Tensor tensor) {
    tensor.shape = {rows, length};
    tensor.strides = {length, 1};
    return tensor;
  };
  const Tensor result = call.make(from.shape);
  const bool wide = from.type == ScalarType::kF64;
  const std::string real(computed_in(from.type)), f = wide ? "" : "f";
  std::optional<Tensor> scale;
  if (weight) {
    scale = call.to.dense(*weight);
    scale->shape = {length};
    scale->strides = {1};
  }
  Kernel kernel(call.to, "rms_norm", "One thread for each row.");
  const auto x = kernel.in("x", as_rows(from));
  std::optional<Kernel::Operand> w;
  if (scale) w = kernel.in("weight", *scale);
  const auto y = kernel.out("y", as_rows(result));
  const std::string row = kernel.each({{"row", rows}})[0];
  const std::string count = kernel.size("count", length);
  const Sum sum(kernel, from.type, sizes.value(length));
  sum.begin("square");
  kernel.loop("j", count);
  kernel.line(sum.add("square", kernel.load(x, {row, "j"}), kernel.load(x, {row, "j"})));
  kernel.end();
  kernel.line(fmt::format("{} scale = {} / sqrt{}({} / {} + {});", real, literal(1, from.type), f,
                          sum.value("square"), count, literal(eps, from.type)));
  kernel.loop("j", count);
  std::string value = fmt::format("{} * scale", kernel.load(x, {row, "j"}));
  if (w) value += " * " + kernel.load(*w, {"j"});
  kernel.store(y, {row, "j"}, stored_as(result.type, value));
  kernel.end();
  kernel.launch();
}

constexpr Operation kOperations[] = {
    {"aten.glu.default", glu},
    {"aten.prelu.default", prelu},
    {"aten.rms_norm.default", rms_norm},
    {"aten._fused_rms_norm.default", rms_norm},
};

}  // namespace
}  // namespace activations

std::span<const Operation> activation_operations() { return activations::kOperations; }

}  // namespace hone::pytorch
