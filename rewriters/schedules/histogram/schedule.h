// How a histogram is computed.
#pragma once

#include "rewriters/schedules/histogram/plan.h"

namespace hone::schedules::histogram {

/// Points with the same slot are put together before they reach the table.
enum class Merge {
  kNone,
  kRuns,   ///< that follow each other in one thread
  kMatch,  ///< of the lanes of a warp: counts only
};
[[nodiscard]] Merge parse_merge(std::string_view text);

struct Schedule {
  bool tables = true;   ///< in shared memory; else atomics on the buffer
  int parts = 1;        ///< a block's table holds one part of a row's slots
  int copies = 1;       ///< of a block's table
  bool by_lane = true;  ///< neighbouring lanes use different copies; else warps do
  Merge merge = Merge::kNone;
  int threads = 512;  ///< of a block
  int width = 1;      ///< points moved at once
  int items = 1;      ///< vectors of a thread, loaded before any is used
  int blocks_per_sm = 2;
  bool packs = true;  ///< one atomic for up to four neighbouring f32 (sm_90)
  Cache cache = Cache::kDefault;
};

/// Do neighbouring points of the scatter go to neighbouring f32, by atomics that take several?
[[nodiscard]] bool goes_in_packs(const Goal& goal, const Group& group, const Scatter& scatter,
                                 const Schedule& schedule);

[[nodiscard]] std::int64_t shared_limit(const Goal& goal);  // [B]
[[nodiscard]] std::int64_t shared_bytes(const Group& group, const Schedule& schedule);
/// Points that a thread block's loop takes in whole: the rest is the tail's.
[[nodiscard]] std::int64_t unit_of(const Schedule& schedule);
[[nodiscard]] int widest(const Goal& goal, const Group& group);

[[nodiscard]] Schedule first_guess(const Goal& goal, const Group& group);
/// Brings it to one that can be printed.
void make_fit(const Goal& goal, const Group& group, Schedule& schedule);

/// One kernel `name`; adds its launch to `generated` and its text to `code`.
void print_scatters(const Goal& goal, const Group& group, const Schedule& schedule,
                    const std::string& name, const std::string& what, Helpers& helpers, Code& code,
                    Generated& generated);

}  // namespace hone::schedules::histogram
