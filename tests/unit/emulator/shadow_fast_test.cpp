// The quick answer of the race check against the rules themselves, over random histories.
#include "evaluator/device/emulator/sim/shadow_fast.h"

#include <gtest/gtest.h>

#include <random>

namespace hone::emulator {
namespace {

bool same(const Stamp& a, const Stamp& b) {
  return a.tick == b.tick && a.warp == b.warp && a.lane == b.lane && a.ordered == b.ordered;
}
bool same(const Cell& a, const Cell& b) {
  return same(a.writer, b.writer) && same(a.reader, b.reader) && a.epoch == b.epoch &&
         a.readers == b.readers;
}

// A read by several lanes, as the loop over distinct places notes it.
bool slow_read(const Clocks& clocks, Cell& c, int warp, int lane, bool many, bool ordered) {
  bool race = note_read(clocks, c, warp, lane, ordered);
  if (many) {
    race = race || (unordered(clocks, c.writer, warp, kNobody) && !(ordered && c.writer.ordered) &&
                    c.writer.lane != kManyLanes);
    c.reader.lane = kManyLanes;
  }
  return race;
}

TEST(ShadowFast, AgreesWithTheRules) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return random() % n; };
  int accesses = 0;
  int quick = 0;
  int races = 0;
  Clocks clocks;
  for (int history = 0; history < 3000; ++history) {
    clocks.reset();
    Cell cell;
    for (int step = 0; step < 30; ++step) {
      const int warp = static_cast<int>(below(3));
      const int lane = static_cast<int>(below(3));
      const bool ordered = below(4) == 0;
      const FastShadow fast(clocks, warp, ordered);
      Cell slow_cell = cell;
      bool race = false;
      bool sure = false;
      switch (below(8)) {
        case 0:
          clocks.barrier(1 + below(7));
          continue;
        case 1:
          clocks.warp_sync(warp);
          continue;
        case 2:
          if (below(4) == 0) clocks.fence(warp);
          continue;
        case 3:
        case 4: {
          const bool many = below(3) == 0;
          race = slow_read(clocks, slow_cell, warp, lane, many, ordered);
          sure = fast.read(cell, static_cast<std::uint32_t>(lane), many);
          // Noting it a second time, by the rules, is what follows a "perhaps".
          if (!sure) slow_read(clocks, cell, warp, lane, many, ordered);
          break;
        }
        case 5:
        case 6:
          race = note_write(clocks, slow_cell, warp, lane, ordered, false);
          sure = fast.may_write(cell, static_cast<std::uint32_t>(lane));
          if (sure)
            fast.write(cell, static_cast<std::uint32_t>(lane));
          else
            note_write(clocks, cell, warp, lane, ordered, false);
          break;
        default: {
          const FastShadow atomic(clocks, warp, true);
          race = note_read(clocks, slow_cell, warp, lane, true);
          race = note_write(clocks, slow_cell, warp, lane, true, false) || race;
          sure = atomic.atomic(cell, static_cast<std::uint32_t>(lane));
          if (!sure) {
            note_read(clocks, cell, warp, lane, true);
            note_write(clocks, cell, warp, lane, true, false);
          }
          break;
        }
      }
      ++accesses;
      quick += sure;
      races += race;
      ASSERT_FALSE(race && sure) << "history " << history << ", step " << step;
      ASSERT_TRUE(same(cell, slow_cell)) << "history " << history << ", step " << step;
    }
  }
  EXPECT_GT(races, accesses / 10);  // the histories are worth something
  EXPECT_GT(quick, accesses / 5);   // and so is the quick answer
}

}  // namespace
}  // namespace hone::emulator
