// Functions that printed kernels call, most of them one instruction each.
#pragma once

#include <set>
#include <string>
#include <utility>

namespace hone::tile {

/// What a kernel does, of which each needs functions.
struct Helpers {
  bool barriers = true;                       ///< rings have barriers in shared memory
  bool cluster = false;                       ///< blocks arrive at one another's barriers
  bool shared_sums = false;                   ///< blocks read one another's shared memory
  bool registers = false;                     ///< roles give and take registers
  bool runs = false;                          ///< runs are added up, and what that loses is kept
  bool short_runs = false;                    ///< runs are added up
  std::set<std::pair<int, int>> copies = {};  ///< bulk copies: dimensions, and to how many blocks
  /// Bulk copies from shared memory: the tensor's dimensions, and whether they add to what is
  /// there.
  std::set<std::pair<int, bool>> stores = {};
  bool groups_meet = false;
  bool packs = false;  ///< values that are stored at once
};

/// Every name begins with `prefix`.
[[nodiscard]] std::string helpers_of(const Helpers& helpers, const std::string& prefix);

}  // namespace hone::tile
