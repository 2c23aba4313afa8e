// Attention on any device as a tile program: all threads copy tiles of keys and values, and each
// warp multiplies its own queries by them, by mma.sync.
#pragma once

#include <string>

#include "rewriters/schedules/attention/schedule.h"
#include "rewriters/tile/program.h"

namespace hone::schedules::attention {

/// Of a schedule whose pipe is kMma, kTf32 or kTf32x3.
[[nodiscard]] tile::Program stream_program(const Attention& a, const Schedule& s, const Goal& goal,
                                           const std::string& prefix);

/// The kernel's text and launch. kRefused: the program does not verify.
[[nodiscard]] Result<Generated> generate_stream(const Attention& a, const Schedule& s,
                                                const Goal& goal, const std::string& prefix);

}  // namespace hone::schedules::attention
