// Products on sm_90a as tile programs: one thread copies tiles in bulk by tensor maps, warp groups
// multiply them by wgmma, and each block does tile after tile.
#pragma once

#include <string>

#include "rewriters/generators/contract/schedule.h"
#include "rewriters/tile/program.h"

namespace hone::generators::contract {

/// Operands that bulk copies can bring as they are: plain loads of 16-bit elements, side by side
/// along k or along their rows, or of 8-bit floats, side by side along k; all other strides
/// multiples of 16 bytes, no masks; sums in f32.
[[nodiscard]] bool has_bulk_operands(const Contraction& c);
/// What bulk copies of this operand bring to each multiprocessor when all copy [B/cycle]: less
/// where rows of 128 bytes do not begin at lines of the L2, as each then takes two. Measured on an
/// H100.
[[nodiscard]] double bulk_rate(const Contraction& c, const Operand& operand);

/// Of a schedule whose pipe is_bulk().
[[nodiscard]] tile::Program bulk_program(const Contraction& c, const Schedule& s, const Goal& goal,
                                         const std::string& prefix);

/// The kernel's text and launch. kRefused: the program does not verify.
[[nodiscard]] Result<Generated> generate_bulk(const Contraction& c, const Schedule& s,
                                              const Goal& goal, const std::string& prefix);

}  // namespace hone::generators::contract
