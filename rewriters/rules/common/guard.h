// Guard flattening: makes the control flow of a kernel uniform, so that barriers may be placed and
// the work of several threads merged.
//
//   if (row < M && col < N) { body; C[…] = v; }     (or: if (row >= M || col >= N) return; …)
// =>
//   const int row_in = row < M ? row : M - 1;  …    // a coordinate that some thread really has
//   body with row_in, col_in;
//   if (row < M && col < N) C[…] = v;
//
// Legal when every conjunct compares a variable that takes all consecutive values over the grid
// with a uniform bound (so the clamped value belongs to a thread for which the guard holds, and
// every load it makes is one that this thread makes), and the body has no effects but local
// variables and stores. Loads in front of the stores are done by all threads.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "candidates/program.h"
#include "candidates/result.h"
#include "rewriters/core/rewriter.h"
#include "rewriters/rules/common/kernel_text.h"

namespace hone::rules {

struct FlattenOptions {
  /// Each grid dimension is about to be divided (rounding up) by this and every thread given that
  /// many outputs: coordinates may then exceed the ones of today's grid.
  std::array<std::int64_t, 3> factors{1, 1, 1};
};

struct Flattened {
  Program program;
  bool changed = false;
  /// Dimensions whose coordinate a guard bounds: work outside the grid has no effect in them.
  std::array<bool, 3> bounded{};
};

/// Flattens every thread-varying guard of `kernel`. A kernel without guards comes back unchanged.
/// kRefused when there is a guard that cannot be flattened.
[[nodiscard]] Result<Flattened> flatten_guards(const Program& program, const std::string& kernel,
                                               const RewriteContext& context,
                                               const FlattenOptions& options = {});

}  // namespace hone::rules
