// Reductions over the blocks of a cluster that share a row (sm_90 and later). Each warp pushes what
// it has to every block; so nobody reads another block's memory, and a block may end when it has
// what it needs.
//
//   begin ──► cluster_arrive()             "my slots may be written"
//   before the first fold ──► cluster_wait()
//   fold: shuffles, push, arrive and wait, each block folds what stands in its own slots
#pragma once

#include <string>
#include <vector>

#include "rewriters/schedules/fold.h"
#include "rewriters/schedules/lane_body.h"

namespace hone::schedules {

/// After it every thread of a team, in all blocks of the cluster, holds the whole: the same bits.
/// Teams are whole warps along a row. Uses `lane`, `team`, `rank` (the block's number in the
/// cluster) and the constants kCluster and kWarps. With `turns` the slots are doubled, and the
/// variable `turn` (0 or 1) says which: for loops in which no other fold lies between two of this.
void emit_cluster_fold(Code& code, Names& names, Helpers& helpers, const Team& team, int cluster,
                       bool turns, const std::vector<Accumulator>& accumulators);
/// Slots in static shared memory that it has for each accumulator.
[[nodiscard]] std::int64_t cluster_slots(const Team& team, int cluster, bool turns);

}  // namespace hone::schedules
