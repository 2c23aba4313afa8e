// Variance and standard deviation: a thread for each result, which goes over its terms twice.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/operations/reduced.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace spread {
namespace {

void write_spread(Call& call, bool root, bool with_mean) {
  Sizes& sizes = call.to.sizes;
  const Tensor from = call.tensor("self");
  const auto axes = call.axes("dim", from.rank());
  const double less = call.has("correction")        ? call.number("correction")
                      : call.flag("unbiased", true) ? 1
                                                    : 0;
  const auto shape = reduced_shape(from, axes, call.flag("keepdim", false));
  const Reduced parts = reduced(sizes, from, axes);
  const auto flat = [&](Tensor tensor) {
    tensor.shape = parts.kept.shape;
    tensor.strides = dense_strides(parts.kept.shape);
    return tensor;
  };
  const Tensor result = flat(call.make(shape));
  const ScalarType type = from.type;
  if (!is_float(type)) refuse("has whole numbers");
  const std::string real(computed_in(type));
  Kernel kernel(call.to, root ? "deviation" : "variance", "One thread for each result.");
  const auto x = kernel.in("x", parts.all);
  const auto y = kernel.out("y", result);
  std::optional<Kernel::Operand> to_mean;
  if (with_mean && call.is_used(1)) to_mean = kernel.out("mean_out", flat(call.make(shape, 1)));
  const Indices at = kernel.each_element(result);
  const Sum sum(kernel, type, sizes.value(parts.gone.elements()), kLongReduction);
  const std::string terms = kernel.size("terms", parts.gone.elements());
  const auto loop = [&](const auto& body) {
    int open = 0;
    Indices in = at;
    for (const std::string& index : loop_over(kernel, parts, 0, open)) in.push_back(index);
    body(kernel.load(x, in));
    while (open-- > 0) kernel.end();
  };
  sum.begin("sum");
  loop([&](const std::string& element) { kernel.line(sum.add("sum", element)); });
  kernel.line(fmt::format("{} mean = sum / {};", sum.type(), terms));
  sum.begin("square");
  loop([&](const std::string& element) {
    kernel.line(fmt::format("square += ({0} - mean) * ({0} - mean);", element));
  });
  // As many terms as are taken off, or fewer: infinite or NaN, as in PyTorch.
  std::string count = terms;
  if (less != 0) {
    count = fmt::format("max({} - {}, {})", terms, literal(less, sum.element()),
                        literal(0, sum.element()));
  }
  kernel.line(fmt::format("{} result = square / {};", real, count));
  kernel.store(
      y, at,
      stored_as(type, root ? fmt::format("sqrt{}(result)", type == ScalarType::kF64 ? "" : "f")
                           : "result"));
  if (to_mean) kernel.store(*to_mean, at, stored_as(type, "mean"));
  kernel.launch();
}

void variance(Call& call) { write_spread(call, false, false); }
void deviation(Call& call) { write_spread(call, true, false); }
void variance_and_mean(Call& call) { write_spread(call, false, true); }
void deviation_and_mean(Call& call) { write_spread(call, true, true); }

constexpr Operation kOperations[] = {
    {"aten.var.default", variance},
    {"aten.var.dim", variance},
    {"aten.var.correction", variance},
    {"aten.std.default", deviation},
    {"aten.std.dim", deviation},
    {"aten.std.correction", deviation},
    {"aten.var_mean.default", variance_and_mean},
    {"aten.var_mean.dim", variance_and_mean},
    {"aten.var_mean.correction", variance_and_mean},
    {"aten.std_mean.default", deviation_and_mean},
    {"aten.std_mean.dim", deviation_and_mean},
    {"aten.std_mean.correction", deviation_and_mean},
};

}  // namespace
}  // namespace spread

std::span<const Operation> spread_operations() { return spread::kOperations; }

}  // namespace hone::pytorch
