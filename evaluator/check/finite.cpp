#include "evaluator/check/finite.h"

#include <fmt/format.h>

#include <cstring>

#include "evaluator/check/compare.h"
#include "evaluator/fill/formula_cpu.h"

namespace hone::check {
namespace {

constexpr double kAnything = 1e-15;  // of all elements: one, however many there are

/// "'a' uniform -1 to 1", of what floating inputs begin with.
std::string fill_text(const ConcreteBuffer& buffer) {
  const Fill& fill = buffer.fill;
  switch (fill.kind) {
    case Fill::Kind::kUniform:
      return fmt::format("'{}' uniform {} to {}", buffer.name, fill.a, fill.b);
    case Fill::Kind::kNormal:
      return fmt::format("'{}' normal around {}", buffer.name, fill.a);
    case Fill::Kind::kIntegers:
      return fmt::format("'{}' integers {} to {}", buffer.name, fill.a, fill.b);
    case Fill::Kind::kConstant:
      return fmt::format("'{}' constant {}", buffer.name, fill.a);
    case Fill::Kind::kFile:
      return fmt::format("'{}' from a file", buffer.name);
    default:
      return fmt::format("'{}'", buffer.name);
  }
}

std::string fills_text(const ConcreteProgram& program) {
  constexpr int kMostShown = 4;
  std::string text;
  int shown = 0;
  for (const ConcreteBuffer& buffer : program.buffers) {
    if (buffer.role != Role::kIn && buffer.role != Role::kInOut) continue;
    if (!is_float(buffer.type)) continue;
    if (++shown > kMostShown) return text + ", ...";
    text += (text.empty() ? "" : ", ") + fill_text(buffer);
  }
  return text;
}

}  // namespace

NonFiniteElements non_finite_of(std::span<const std::uint8_t> bytes, ScalarType type) {
  const std::size_t size = size_of(type), n = bytes.size() / size;
  NonFiniteElements found;
  found.elements = static_cast<std::int64_t>(n);
  if (!is_float(type)) return found;
  const int t = static_cast<int>(type);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    if (hone_is_finite(hone_decode(t, bits), hone_limit(t)) != 0) continue;
    if (found.count++ > 0) continue;
    found.first = static_cast<std::int64_t>(i);
    found.first_bits = bits;
  }
  return found;
}

double least_finite(NonFinite non_finite) {
  switch (non_finite) {
    case NonFinite::kFew:
      return 0.999;
    case NonFinite::kMadeUp:
    case NonFinite::kNumbers:
      return kAnything;
    case NonFinite::kSame:
      return 0.01;
    default:
      return 1;
  }
}

bool too_many(const NonFiniteElements& found, NonFinite non_finite) {
  const auto finite = static_cast<double>(found.elements - found.count);
  return found.count > 0 && finite < least_finite(non_finite) * static_cast<double>(found.elements);
}

Tolerance for_inputs(Tolerance tolerance, bool made_up) {
  if (tolerance.non_finite != NonFinite::kSame)
    tolerance.non_finite = made_up ? NonFinite::kMadeUp : NonFinite::kFew;
  return tolerance;
}

std::string said_of(const ConcreteBuffer& output, const NonFiniteElements& found, InputSet inputs) {
  return fmt::format("{} of {} elements of '{}' {} not finite on {}, the first is {}[{}] = {}",
                     found.count, found.elements, output.name, found.count == 1 ? "is" : "are",
                     to_string(inputs), output.name, found.first,
                     element_text(output.type, found.first_bits));
}

std::string refusal_of(const ConcreteProgram& program, const ConcreteBuffer& output,
                       const NonFiniteElements& found, NonFinite non_finite) {
  const std::string said = said_of(output, found, InputSet::kOwn);
  if (non_finite == NonFinite::kSame)
    return said + ": with less than 1 % finite there is nothing to compare";
  const std::string fills = fills_text(program);
  return fmt::format(
      "{}, which is more than 0.1 %: what is not finite cannot be compared. Of a reference the "
      "likely cause is the fill of an input{}: choose values for which the kernels are defined, or "
      "say \"non_finite\": \"same\" where NaN and infinities are meant",
      said, fills.empty() ? "" : fmt::format(" ({})", fills));
}

std::string left_out(const ConcreteBuffer& output, const NonFiniteElements& found,
                     InputSet inputs) {
  return said_of(output, found, inputs) +
         ": too little is left to compare, so these inputs are left out of the checks";
}

}  // namespace hone::check
