// Powers of whole numbers.
#include <fmt/format.h>

#include <limits>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {

void write_whole_power(Call& call) {
  Sizes& sizes = call.to.sizes;
  std::optional<Tensor> base = std::nullopt, exponent = std::nullopt;
  if (call.is_tensor("self")) base = call.tensor("self");
  if (call.is_tensor("exponent")) exponent = call.tensor("exponent");
  if (!exponent && call.whole_value("exponent") < 0) {
    refuse("takes a negative power of whole numbers");
  }
  std::vector<Dim> shape;
  if (base) shape = base->shape;
  if (exponent) shape = broadcast(sizes, shape, exponent->shape);
  const Tensor result = call.make(shape);
  Kernel kernel(call.to, "whole_power", "");
  const auto value = [&](const std::optional<Tensor>& tensor, const char* name,
                         const Kernel::Operand& operand, const Indices& at) {
    if (tensor) return kernel.load(operand, at);
    const std::int64_t number = call.whole_value(name);
    if (number == std::numeric_limits<std::int64_t>::min()) refuse("has the number {}", number);
    return fmt::format("{}ll", number);
  };
  Kernel::Operand of_base, of_exponent;
  if (base) of_base = kernel.in("base", expanded(sizes, *base, shape));
  if (exponent) of_exponent = kernel.in("exponent", expanded(sizes, *exponent, shape));
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  kernel.line(fmt::format("long long v = {};", value(base, "self", of_base, at)));
  kernel.line(fmt::format("long long n = {};", value(exponent, "exponent", of_exponent, at)));
  kernel.line("long long power = 1;");
  kernel.line("if (n < 0) power = v == 1 ? 1 : v == -1 ? (n % 2 == 0 ? 1 : -1) : 0;");
  kernel.begin("for (; n > 0; n /= 2)");
  kernel.line("if (n % 2 == 1) power *= v;");
  kernel.line("v *= v;");
  kernel.end();
  kernel.store(y, at, fmt::format("({})power", computed_in(result.type)));
  kernel.launch();
}

}  // namespace hone::pytorch
