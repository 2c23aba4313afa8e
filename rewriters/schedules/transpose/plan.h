// A map as a batch of tiles: `stored` moves by one element in the output, `loaded` in the loads
// that are turned.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewriters/schedules/generator.h"
#include "rewriters/schedules/lane_body.h"

namespace hone::schedules::transpose {

struct Plan {
  LaneBody::Store store;
  std::int64_t batches = 1;
  SymbolId batch = -1;
  SymbolId stored = -1;
  SymbolId loaded = -1;
  std::vector<Ref> turned;  ///< loads
};

/// kRefused: nothing to turn.
[[nodiscard]] Result<Plan> plan_transpose(const Goal& goal, const nest::Nest& nest);

struct Schedule {
  int tile = 32;      ///< elements, both ways
  int threads = 256;  ///< a multiple of 32
  int width = 1;      ///< elements moved at once: then a thread turns blocks of width x width
  Cache cache = Cache::kDefault;
  std::int64_t group = 16;  ///< tiles along the stored dim that blocks take side by side
};

/// The most elements that the turned loads and the store can move at once, at most `most`; 1 where
/// they are no neighbours everywhere.
[[nodiscard]] int widest_block(const Goal& goal, const Plan& plan, int most);

void print_transpose(const Goal& goal, const Plan& plan, const Schedule& schedule,
                     const std::string& name, const std::string& what, Helpers& helpers, Code& code,
                     Generated& generated);

}  // namespace hone::schedules::transpose
