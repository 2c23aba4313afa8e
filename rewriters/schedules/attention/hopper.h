// Attention on sm_90a as a tile program: one thread copies tiles in bulk by tensor maps, warp
// groups of 64 queries multiply them by wgmma and keep weights in registers.
#pragma once

#include <string>

#include "rewriters/schedules/attention/schedule.h"
#include "rewriters/tile/program.h"

namespace hone::schedules::attention {

/// What bulk copies can bring as it is: queries, keys and values that are plain loads of the same
/// 16-bit type, side by side along the depth and the columns, all other strides, and where they
/// begin in their buffers, multiples of 16 bytes; and an output that is a function of the weighted
/// mean, or of the two sums and nothing else.
[[nodiscard]] bool has_bulk_operands(const Attention& a);

/// Of a schedule whose pipe is kWgmmaBulk.
[[nodiscard]] tile::Program bulk_program(const Attention& a, const Schedule& s, const Goal& goal,
                                         const std::string& prefix);

/// The kernel's text and launch. kRefused: the program does not verify.
[[nodiscard]] Result<Generated> generate_bulk(const Attention& a, const Schedule& s,
                                              const Goal& goal, const std::string& prefix);

}  // namespace hone::schedules::attention
