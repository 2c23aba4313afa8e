// Text of ShareSums: blocks of a cluster add up their sums by shared memory.
#pragma once

#include <string>
#include <vector>

#include "rewriters/tile/program.h"

namespace hone::tile {

/// Names in the kernel, and the warp group's number, an expression.
struct ShareCall {
  std::string sums, shared, staging, group;
};

/// `sent` and `consumed` are barriers that all blocks of the cluster arrive at, `share_parity` the
/// phase of both, which begins as 0.
[[nodiscard]] std::string share_sums(const Program& program, const ShareSums& share,
                                     const ShareCall& call);

/// What that text, and whoever makes its barriers, call their own things.
[[nodiscard]] std::vector<std::string> names_in_share_sums();

}  // namespace hone::tile
