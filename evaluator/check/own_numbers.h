// Numbers that a program's code names: where it compares with one, that one may be wrong.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "candidates/program.h"

namespace hone::check {

/// Bits of an immediate operand, and of what type.
struct OwnNumber {
  enum class Kind { kInteger, kF32, kF64 };
  Kind kind = Kind::kInteger;
  std::uint64_t bits = 0;  ///< an integer's with its sign carried on to 64
  friend bool operator==(const OwnNumber&, const OwnNumber&) = default;
};

/// Immediate operands of the candidate's instructions that are not among those of the reference,
/// each once, in order of appearance. Integers of a magnitude below 17 and powers of two are left
/// out: addresses and loops are full of them, and other inputs have them.
[[nodiscard]] std::vector<OwnNumber> own_numbers(std::string_view reference_ptx,
                                                 std::string_view candidate_ptx);

/// Such a number, or one next to it, that an input may hold: its type can, and its fill may give
/// it. Element bits, each once; empty: none fits, or its elements hang on one another.
[[nodiscard]] std::vector<std::uint64_t> elements_of(const std::vector<OwnNumber>& numbers,
                                                     const ConcreteBuffer& buffer);

}  // namespace hone::check
