#include "evaluator/check/narrow_products.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "evaluator/check/atomics.h"

namespace hone::check {
namespace {

struct Operand {
  std::string_view name;  ///< in an opcode
  int bits;               ///< of the significand
};
constexpr int kWidest = 53;

/// Of tensor cores, the narrowest first: an opcode names the operands and the sums.
constexpr Operand kOperands[] = {{"e2m1", 2}, {"e2m3", 4}, {"e3m2", 3},  {"e5m2", 3},
                                 {"e4m3", 4}, {"bf16", 8}, {"tf32", 11}, {"f16", 11}};

Operand operand_of(std::string_view statement) {
  const auto opcode = statement.substr(0, statement.find_first_of(" \t"));
  const bool multiplies = opcode.starts_with("mma.") || opcode.starts_with("wmma.mma") ||
                          opcode.starts_with("wgmma.mma") || opcode.starts_with("tcgen05.mma");
  if (!multiplies) return {"", kWidest};
  for (const Operand& operand : kOperands)
    if (opcode.contains(operand.name)) return operand;
  // wmma on halves names its sums alone.
  const bool other = std::ranges::any_of(
      std::initializer_list<std::string_view>{".s8", ".u8", ".s4", ".u4", ".b1", ".f64", ".s32"},
      [&](std::string_view type) { return opcode.contains(type); });
  if (opcode.starts_with("wmma.mma") && !other) return {"f16", 11};
  return {"", kWidest};
}

Operand narrowest(std::string_view ptx) {
  Operand found{"", kWidest};
  (void)any_statement(ptx, [&](std::string_view statement) {
    const Operand own = operand_of(statement);
    if (own.bits < found.bits) found = own;
    return false;
  });
  return found;
}

int bits_of(ScalarType type) {
  switch (type) {
    case ScalarType::kF64:
      return kWidest;
    case ScalarType::kF32:
      return 24;
    case ScalarType::kF16:
      return 11;
    case ScalarType::kE4m3:
      return 4;
    case ScalarType::kE5m2:
      return 3;
    default:
      return 8;
  }
}

bool is_input(const ConcreteBuffer& buffer) {
  return buffer.role == Role::kIn || buffer.role == Role::kInOut;
}

/// Of the significands of floating inputs, the least; more than kWidest: there is none.
int bits_of_inputs(const ConcreteProgram& reference) {
  int least = kWidest + 1;
  const bool fp8 = multiplies_fp8(reference.buffers);
  for (const ConcreteBuffer& buffer : reference.buffers)
    if (is_input(buffer) && is_float(buffer.type) && (fp8 || !is_fp8(buffer.type)))
      least = std::min(least, bits_of(buffer.type));
  return least;
}

/// Of the buffers that maps round, the most bits that one has; 0: there are no such maps. What is
/// no input of the reference has as many as the narrowest input.
int most_bits_rounded(const ConcreteProgram& program, const ConcreteProgram& reference) {
  int most = 0;
  for (const ConcreteLaunch& launch : program.launches)
    for (const ConcreteArgument& argument : launch.args) {
      const auto* map = std::get_if<ConcreteTensorMap>(&argument);
      if (map == nullptr || !map->as_tf32) continue;
      const auto& name = program.buffers.at(static_cast<std::size_t>(map->buffer)).name;
      const auto read = std::ranges::find(reference.buffers, name, &ConcreteBuffer::name);
      const bool known = read != reference.buffers.end() && is_input(*read);
      const int least = bits_of_inputs(reference);
      most = std::max(most, known ? bits_of(read->type) : least <= kWidest ? least : 0);
    }
  return most;
}

}  // namespace

std::string narrow_products(const ConcreteProgram& reference, std::string_view reference_ptx,
                            std::string_view candidate_ptx) {
  const int least = bits_of_inputs(reference);
  if (least > kWidest) return "";
  const Operand own = narrowest(candidate_ptx);
  if (own.bits >= least || own.bits >= narrowest(reference_ptx).bits) return "";
  return std::string(own.name);
}

bool copies_as_tf32(const ConcreteProgram& reference, std::string_view reference_ptx,
                    const ConcreteProgram& candidate) {
  constexpr int kTf32Bits = 11;
  return most_bits_rounded(candidate, reference) > kTf32Bits &&
         most_bits_rounded(reference, reference) == 0 && narrowest(reference_ptx).bits > kTf32Bits;
}

}  // namespace hone::check
