// Many blocks at once: forward progress under every schedule, and what can never end.
#include <set>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

std::shared_ptr<const Module> grid_kernels() { return kernels("grid_sm_90.ptx"); }

RunOptions with_seed(std::uint64_t seed) {
  RunOptions options;
  options.schedule_seed = seed;
  options.max_warp_instructions = 200'000'000;
  return options;
}

class Schedules : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, Schedules, testing::Range<std::uint64_t>(0, 8));

void expect_locked(std::array<std::uint32_t, 3> grid, std::array<std::uint32_t, 3> block,
                   std::uint64_t seed) {
  Launch l("lock_everyone", grid, block);
  l.in("lock", std::vector<int>{0}).in("count", std::vector<int>{0});
  const RunReport r = l.run(grid_kernels(), with_seed(seed));
  ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
  EXPECT_EQ(l.read<int>("count", 1)[0], static_cast<int>(grid[0] * block[0]));
}

TEST_P(Schedules, LockInsideAWarp) { expect_locked({1, 1, 1}, {32, 1, 1}, GetParam()); }
TEST_P(Schedules, LockInsideABlock) { expect_locked({1, 1, 1}, {128, 1, 1}, GetParam()); }
TEST_P(Schedules, LockBetweenBlocks) { expect_locked({6, 1, 1}, {48, 1, 1}, GetParam()); }

TEST_P(Schedules, GridBarrier) {
  constexpr int kBlocks = 12;
  constexpr int kThreads = 64;
  constexpr int kRounds = 5;
  Launch l("ring", {kBlocks, 1, 1}, {kThreads, 1, 1});
  std::vector<int> a(kBlocks * kThreads);
  for (int i = 0; i < kBlocks * kThreads; ++i) a[i] = i;
  l.in("a", a).out("b", a.size() * 4).in("arrived", std::vector<unsigned>{0}).value(kRounds);
  const RunReport r = l.run(grid_kernels(), with_seed(GetParam()));
  ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
  const auto b = l.read<int>("b", a.size());
  for (int i = 0; i < kBlocks * kThreads; ++i)
    ASSERT_EQ(b[i], (i + kRounds * kThreads) % (kBlocks * kThreads) + kRounds) << i;
}

/// What blocks spend on waiting for those that have not begun is not held against them.
TEST_P(Schedules, BarrierOfAllThatTheDeviceHolds) {
  constexpr int kBlocks = 264;
  constexpr int kThreads = 512;
  Launch l("ring", {kBlocks, 1, 1}, {kThreads, 1, 1});
  std::vector<int> a(kBlocks * kThreads);
  l.in("a", a).out("b", a.size() * 4).in("arrived", std::vector<unsigned>{0}).value(2);
  RunOptions options = with_seed(GetParam());
  options.max_warp_instructions = 10'000'000;
  options.check_races = false;
  const RunReport r = l.run(grid_kernels(), options);
  EXPECT_EQ(r.verdict, Verdict::kOk) << r.detail;
}

TEST_P(Schedules, ProducersAndAConsumer) {
  constexpr int kProducers = 5;
  Launch l("queue", {kProducers + 1, 1, 1}, {32, 1, 1});
  l.in("slots", std::vector<int>(4)).in("head", std::vector<int>{0});
  l.in("tail", std::vector<int>{0}).value(4).out("out", 3 * kProducers * 4);
  const RunReport r = l.run(grid_kernels(), with_seed(GetParam()));
  ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
  const auto out = l.read<int>("out", 3 * kProducers);
  for (int i = 0; i < 3 * kProducers; ++i) EXPECT_EQ(out[i], 10 * i);
}

TEST_P(Schedules, WaitsInsideABlock) {
  Launch l("wait_inside", {2, 1, 1}, {96, 1, 1});
  l.in("flags", std::vector<int>(2)).in("out", std::vector<int>(2));
  RunOptions options = with_seed(GetParam());
  options.check_races = false;  // both blocks write the same to `out`
  const RunReport r = l.run(grid_kernels(), options);
  ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
  EXPECT_EQ(l.read<int>("out", 2), (std::vector<int>{7, 9}));
}

TEST_P(Schedules, WaitsForAResidentBlock) {
  Launch l("wait_for_last", {100, 1, 1}, {32, 1, 1});
  l.in("flag", std::vector<int>{0}).in("out", std::vector<int>(100));
  const RunReport r = l.run(grid_kernels(), with_seed(GetParam()));
  ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
  EXPECT_EQ(l.read<int>("out", 100), std::vector<int>(100, 1));
}

TEST(Grid, ABlockThatCannotBeResident) {
  Profile small = *find_profile("sm_90");
  small.sm_count = 2;
  small.max_blocks_per_sm = 4;
  Launch l("wait_for_last", {9, 1, 1}, {32, 1, 1});
  l.in("flag", std::vector<int>{0}).in("out", std::vector<int>(9));
  RunOptions options;
  options.profile = &small;
  const RunReport r = l.run(grid_kernels(), options);
  EXPECT_EQ(r.verdict, Verdict::kTimeout);
  for (const char* part : {"waits for a block that is not resident", "8 of 9 blocks",
                           "polls flag+0", "block (0,0,0)", "line "})
    EXPECT_NE(r.detail.find(part), std::string::npos) << r.detail;
  EXPECT_LT(r.counters.warp_instructions, 100'000'000u);  // long before the limit
}

TEST(Grid, WaitsForEver) {
  Launch l("wait_inside", {1, 1, 1},
           {32, 1, 1});  // no thread 40, no thread 70: thread 0 and 1 only
  l.in("flags", std::vector<int>(1)).in("out", std::vector<int>(2));
  EXPECT_EQ(l.run(grid_kernels()).verdict, Verdict::kOk);
  Launch alone("wait_inside", {1, 1, 1}, {1, 1, 1});
  alone.in("flags", std::vector<int>(1)).in("out", std::vector<int>(2));
  const RunReport r = alone.run(grid_kernels());
  EXPECT_EQ(r.verdict, Verdict::kTimeout);
  EXPECT_NE(r.detail.find("polls flags+0"), std::string::npos) << r.detail;
}

TEST(Grid, SeedsChangeTheOrder) {
  std::set<int> last;
  std::set<std::vector<int>> warps;
  std::set<std::vector<int>> between;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Launch blocks("order_of_blocks", {16, 1, 1}, {32, 1, 1});
    blocks.in("out", std::vector<int>{-1});
    ASSERT_EQ(blocks.run(grid_kernels(), with_seed(seed)).verdict, Verdict::kOk);
    last.insert(blocks.read<int>("out", 1)[0]);
    if (seed == 0) {
      EXPECT_EQ(last, std::set<int>{15});
    }

    Launch inside("order_of_warps", {1, 1, 1}, {256, 1, 1});
    inside.in("count", std::vector<int>{0}).out("out", 32);
    ASSERT_EQ(inside.run(grid_kernels(), with_seed(seed)).verdict, Verdict::kOk);
    warps.insert(inside.read<int>("out", 8));

    Launch steps("order_of_accesses", {1, 1, 1}, {256, 1, 1});
    steps.in("last", std::vector<int>{0}).out("out", 32);
    ASSERT_EQ(steps.run(grid_kernels(), with_seed(seed)).verdict, Verdict::kOk);
    between.insert(steps.read<int>("out", 8));
    if (seed == 0) {
      EXPECT_EQ(between.begin()->front(), 1);
    }
  }
  EXPECT_GE(last.size(), 4u);
  EXPECT_GE(warps.size(), 6u);
  EXPECT_GE(between.size(), 2u);  // some warp was interrupted between its accesses
}

TEST(Grid, TheSameSeedIsTheSameRun) {
  for (std::uint64_t seed : {1u, 5u}) {
    std::vector<int> first;
    std::uint64_t executed = 0;
    for (int k = 0; k < 2; ++k) {
      Launch l("lock_everyone", {5, 1, 1}, {64, 1, 1});
      l.in("lock", std::vector<int>{0}).in("count", std::vector<int>{0});
      const RunReport r = l.run(grid_kernels(), with_seed(seed));
      ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
      if (k == 1) {
        EXPECT_EQ(r.counters.warp_instructions, executed);
      }
      executed = r.counters.warp_instructions;
    }
  }
}

}  // namespace
}  // namespace hone::emulator
