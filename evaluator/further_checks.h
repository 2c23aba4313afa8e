// Which of a request's checks are looked at further: under other orders of blocks and warps, and
// called until what is kept repeats. Pure functions: the runner that does all checks asks them, and
// whoever divides the checks among several runners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "evaluator/protocol/messages.h"

namespace hone {

/// Of one check, once its reference has run.
struct KnownReference {
  bool usable = false;     ///< it ended well; of a check in part: not known
  std::uint64_t work = 0;  ///< [warp instructions]
  bool exchanges = false;  ///< the candidate has volatile or atomic accesses; see looks_further()
};

struct FurtherChecks {
  std::size_t reordered = 0;        ///< shows most under other orders
  std::size_t called_often = 0;     ///< is the cheapest; of the quick stage none
  std::set<std::size_t> exchanges;  ///< one more order says something, too
  bool is_final = false;

  /// Other orders of blocks and warps for this check.
  [[nodiscard]] std::uint64_t schedules(std::size_t check) const;
};

/// Do `exchanges` of the checks count? What rules made hides nothing.
[[nodiscard]] bool looks_further(const protocol::EmulateRequest& request);

/// Of the checks in which there are several blocks to reorder, the one that costs least.
[[nodiscard]] std::size_t smallest_check(const std::vector<protocol::Case>& checks);

/// Of a candidate's checks: several blocks of several warps with work for all of them, as far as
/// that is cheap for the reference; one more order where threads exchange what no race is seen of,
/// on the task's own inputs, the cheapest first, as long as all together are cheap enough. `known`:
/// by check.
[[nodiscard]] FurtherChecks further_checks(const protocol::EmulateRequest& request,
                                           const std::vector<KnownReference>& known);

/// A check, or one other order of its blocks and warps.
struct CheckItem {
  std::size_t check = 0;
  int order = 0;  ///< 0: the check itself
};
/// Are the orders of the check, which are several, items of their own? What is checked in part runs
/// in no other order.
[[nodiscard]] bool is_split(const std::vector<protocol::Case>& checks, const FurtherChecks& further,
                            std::size_t check);
/// What several runners do of the checks, in the order of their verdicts.
[[nodiscard]] std::vector<CheckItem> items_of(const std::vector<protocol::Case>& checks,
                                              const FurtherChecks& further);

}  // namespace hone
