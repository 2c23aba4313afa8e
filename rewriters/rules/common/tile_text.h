// Prints a loop whose loads go through the tiles of a TilePlan.
#pragma once

#include <cstdint>
#include <string>

#include "candidates/result.h"
#include "rewriters/rules/common/kernel_text.h"
#include "rewriters/rules/common/tile_plan.h"

namespace hone::rules {

struct TileTextOptions {
  std::int64_t steps = 16;  ///< iterations per tile
  bool remainder = true;    ///< keep the original loop for what the tiles leave over
};

/// A compound statement that replaces the loop. kRefused when text comes from a macro.
[[nodiscard]] Result<std::string> tiled_loop(const OpenProgram& open,
                                             const syntax::KernelInfo& info,
                                             const syntax::Loop& loop, const TilePlan& plan,
                                             const TileTextOptions& options,
                                             const RewriteContext& context, IndexSpace& space);

}  // namespace hone::rules
