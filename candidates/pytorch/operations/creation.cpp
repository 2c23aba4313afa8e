// Operators that make tensors of nothing: constants, ranges, unit matrices.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace creation {
namespace {

/// The shape that the file says, of sizes of its own: what it meets says which they are.
std::vector<Dim> said_shape(Call& call) {
  std::vector<Dim> shape;
  for (const std::int64_t extent : call.extents()) {
    shape.push_back(call.to.sizes.fresh(fmt::format("{}_size", call.name()), extent));
  }
  return shape;
}

/// `value`: as that type's literal.
void write_constant(Call& call, const std::vector<Dim>& shape, const std::string& value) {
  const Tensor result = call.make(shape);
  Tensor flat = result;
  merge_dimensions(call.to.sizes, {&flat});
  Kernel kernel(call.to, "fill", "");
  const auto y = kernel.out("y", flat);
  const Indices at = kernel.each_element(flat);
  kernel.store(y, at, stored_as(result.type, value));
  kernel.launch();
}

std::string value_of(const Call& call, double otherwise) {
  for (const std::string_view name : {"fill_value", "value", "s"}) {
    if (!call.has(name)) continue;
    // Whole numbers of 64 bits are no doubles.
    if (call.type() == ScalarType::kI64 && call.is_whole(name)) {
      const std::int64_t value = call.whole_value(name);
      return value == std::numeric_limits<std::int64_t>::min() ? "-9223372036854775807ll - 1"
                                                               : fmt::format("{}ll", value);
    }
    return literal(call.number(name), call.type());
  }
  return literal(otherwise, call.type());
}

void zeros(Call& call) { write_constant(call, said_shape(call), value_of(call, 0)); }
void ones(Call& call) { write_constant(call, said_shape(call), literal(1, call.type())); }
void zeros_like(Call& call) { write_constant(call, call.tensor("self").shape, value_of(call, 0)); }
void ones_like(Call& call) {
  write_constant(call, call.tensor("self").shape, literal(1, call.type()));
}

/// self's shape, the element of another tensor everywhere.
void fill_with_tensor(Call& call) {
  const Tensor from = call.tensor("value");
  if (from.rank() != 0) refuse("fills with a tensor of {} dimensions", from.rank());
  const Tensor result = call.make(call.tensor("self").shape);
  Kernel kernel(call.to, "fill_with", "");
  const auto x = kernel.in("x", expanded(call.to.sizes, from, result.shape));
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  kernel.store(y, at,
               stored_as(result.type, converted(kernel.load(x, at), from.type, result.type)));
  kernel.launch();
}

/// start + i * step; PyTorch computes in i64 or f64.
void write_steps(Call& call, double start, double step) {
  const Tensor result = call.make(said_shape(call));
  if (result.rank() != 1) refuse("is no row in the file");
  Kernel kernel(call.to, "range", "");
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  const ScalarType wide = is_float(result.type) ? ScalarType::kF64 : ScalarType::kI64;
  const std::string value =
      is_float(result.type)
          ? fmt::format("({})({} + {} * {})", computed_in(result.type), literal(start, wide), at[0],
                        literal(step, wide))
          : fmt::format("{} + {} * {}", literal(start, wide), at[0], literal(step, wide));
  kernel.store(y, at, stored_as(result.type, value));
  kernel.launch();
  constexpr double kMost = 1e9;
  const double last = start + step * static_cast<double>(call.extent(0) - 1);
  if (wide == ScalarType::kI64 && std::abs(start) < kMost && std::abs(last) < kMost) {
    call.to.set_whole(result, whole_between({static_cast<std::int64_t>(std::min(start, last)),
                                             static_cast<std::int64_t>(std::max(start, last))}));
  }
}

void arange(Call& call) { write_steps(call, call.number("start", 0), call.number("step", 1)); }

void linspace(Call& call) {
  const Tensor result = call.make(said_shape(call));
  if (!is_float(result.type)) refuse("makes whole numbers");
  if (result.rank() != 1) refuse("is no row in the file");
  // The step hangs on the number of steps.
  call.to.sizes.freeze(result.shape[0]);
  const std::int64_t steps = call.extent(0);
  const double start = call.number("start"), end = call.number("end");
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  Kernel kernel(call.to, "linspace", "From both ends, as PyTorch does.");
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  const auto f64 = [](double value) { return literal(value, ScalarType::kF64); };
  kernel.store(
      y, at,
      stored_as(result.type, fmt::format("({})({} < {} ? {} + {} * {} : {} - {} * ({} - {}))",
                                         computed_in(result.type), at[0], steps / 2, f64(start),
                                         at[0], f64(step), f64(end), f64(step), steps - 1, at[0])));
  kernel.launch();
}

void eye(Call& call) {
  std::vector<Dim> shape = said_shape(call);
  if (shape.size() != 2) refuse("is no matrix in the file");
  if (!call.has("m")) shape[1] = shape[0];
  const Tensor result = call.make(shape);
  Kernel kernel(call.to, "eye", "");
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  kernel.store(
      y, at,
      stored_as(result.type, fmt::format("{} == {} ? {} : {}", at[0], at[1],
                                         literal(1, result.type), literal(0, result.type))));
  kernel.launch();
}

constexpr Operation kOperations[] = {
    {"aten.zeros.default", zeros},
    {"aten.ones.default", ones},
    {"aten.full.default", zeros},
    {"aten.empty.memory_format", zeros},
    {"aten.new_zeros.default", zeros},
    {"aten.new_ones.default", ones},
    {"aten.new_full.default", zeros},
    {"aten.new_empty.default", zeros},
    {"aten.scalar_tensor.default", zeros},
    {"aten.zeros_like.default", zeros_like},
    {"aten.ones_like.default", ones_like},
    {"aten.full_like.default", zeros_like},
    {"aten.empty_like.default", zeros_like},
    {"aten.zero.default", zeros_like},
    {"aten.fill.Scalar", zeros_like},
    {"aten.fill.Tensor", fill_with_tensor},
    {"aten.arange.default", arange},
    {"aten.arange.start", arange},
    {"aten.arange.start_step", arange},
    {"aten.linspace.default", linspace},
    {"aten.eye.default", eye},
    {"aten.eye.m", eye},
};

}  // namespace
}  // namespace creation

std::span<const Operation> creation_operations() { return creation::kOperations; }

}  // namespace hone::pytorch
