// What copies in bulk can bring of a product's operands, and how outputs go: for hopper.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "rewriters/schedules/contract/hopper.h"

namespace hone::schedules::contract {

/// How far neighbours are along batch, rows or columns, and another index [elements].
struct Strides {
  std::int64_t batch = 0, outer = 0, other = 0;
};
/// Of an element from the buffer's first one on; empty: it is made in other ways, too.
[[nodiscard]] std::optional<Strides> strides_of(Ref element, SymbolId batch, SymbolId outer,
                                                SymbolId other);
/// Of an operand, the other index being k; empty: it is no plain load.
[[nodiscard]] std::optional<Strides> strides_of(const Contraction& c, const Operand& operand);
/// The operand for bulk copies of `rows` x a line of k; empty: it cannot be.
[[nodiscard]] std::optional<tile::View> view_of(const Contraction& c, const Operand& operand,
                                                int rows);
/// Whether the value reads the output.
[[nodiscard]] bool reads(Ref value, const Contraction& c);
/// What is added to the output's own element, where the value of f32 is no more than that, as in
/// C += A * B; nullptr: it is not.
[[nodiscard]] Ref added_to_output(const Contraction& c);
/// Outputs as bulk copies write them or, f32, add to them, in boxes of 64 rows; empty: not so.
[[nodiscard]] std::optional<tile::View> output_view(const Contraction& c);

/// Stages of boxes that are read in patches: one comes while one is read.
inline constexpr int kPatchStages = 2;
/// Stages of what is made of B as tf32: one is written, one multiplied, one may wait for a slow
/// group.
inline constexpr int kMadeStages = 3;

}  // namespace hone::schedules::contract
