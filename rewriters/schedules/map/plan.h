// What a kernel without reductions does: points, numbered by one index, and what each stores.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewriters/schedules/lane_body.h"

namespace hone::schedules::map {

/// Stores over the same number of points: one kernel.
struct Points {
  std::int64_t count = 1;
  SymbolId index = -1;
  std::vector<LaneBody::Store> stores;
};

/// kRefused: a reduction, or points that share elements.
[[nodiscard]] Result<std::vector<Points>> plan_map(const Goal& goal,
                                                   const std::vector<nest::Nest>& nests);

struct Schedule {
  int threads = 256;      ///< of a block
  int width = 1;          ///< points moved at once
  int items = 1;          ///< vectors of a thread
  int blocks_per_sm = 0;  ///< 0: each block has its own points; else so many walk over them
  Cache cache = Cache::kDefault;
};

/// The same points, the last `count % width` left out; and those. What a vector width needs.
[[nodiscard]] Points without_tail(nest::Nodes& nodes, const Points& points, int width);
[[nodiscard]] Points tail_of(nest::Nodes& nodes, const Points& points, int width);

[[nodiscard]] int widest(const Goal& goal, const Points& points);
[[nodiscard]] Schedule first_guess(const Goal& goal, const Points& points);

/// One kernel `name`; adds its launch to `generated` and its text to `code`.
void print_map(const Goal& goal, const Points& points, Schedule schedule, const std::string& name,
               const std::string& what, Helpers& helpers, Code& code, Generated& generated);

}  // namespace hone::schedules::map
