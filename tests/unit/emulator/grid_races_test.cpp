// Races between blocks: each kernel of data/grid_races.cu with its twin.
#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

struct Pair {
  const char* name;
  const char* where;  ///< in the report of the racing one
};

class GridRaces : public testing::TestWithParam<Pair> {};

RunReport run_one(const std::string& kernel, const RunOptions& options) {
  Launch l(kernel, {8, 1, 1}, {64, 1, 1});
  std::vector<int> a(4096);
  for (int i = 0; i < 4096; ++i) a[i] = i * 3 + 1;
  l.in("a", a).out("b", 4096 * 4).in("s", std::vector<unsigned>(64));
  return l.run(kernels("grid_races_sm_90.ptx"), options);
}

TEST_P(GridRaces, CaughtAndTwinIsNot) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    RunOptions options;
    options.schedule_seed = seed;
    options.max_warp_instructions = 100'000'000;
    const std::string name = GetParam().name;
    const RunReport race = run_one(name + "_race", options);
    EXPECT_EQ(race.verdict, Verdict::kRace) << seed << ": " << race.detail;
    // A seeded schedule lets some lanes of a warp run before the others: those race, too.
    const bool of_lanes = seed != 0 && race.detail.find("of the same warp") != std::string::npos;
    for (const char* part : {of_lanes ? "race" : "race between blocks", GetParam().where, "line ",
                             "block (", "thread ("})
      EXPECT_NE(race.detail.find(part), std::string::npos) << part << " in " << race.detail;
    const RunReport clean = run_one(name + "_clean", options);
    EXPECT_EQ(clean.verdict, Verdict::kOk) << seed << ": " << clean.detail;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, GridRaces,
    testing::Values(Pair{"overlap", " of b+"}, Pair{"stencil", " of a+"}, Pair{"sum", " of s+0"},
                    Pair{"last_block_fence", " of b+"}, Pair{"last_block_barrier", " of b+"},
                    Pair{"last_block_scope", " of b+"}, Pair{"last_block_all_fence", " of b+"},
                    Pair{"look_back", " of b+"}, Pair{"wrong_flag", " of b+0"},
                    Pair{"flag", " of s+0"}, Pair{"release", " of b+0"}, Pair{"phases", " of b+"},
                    Pair{"lock", " of a+0"}, Pair{"bytes", " of a+"}, Pair{"same_value", "+0"},
                    Pair{"write_after_read", " of a+"}, Pair{"write_after_many_reads", " of a+"},
                    Pair{"atomic_and_plain", " of s+0"}, Pair{"tickets", "write of s+0"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(GridRace, NamesBothSides) {
  const RunReport r = run_one("write_after_read_race", {});
  EXPECT_EQ(r.verdict, Verdict::kRace);
  for (const char* part : {"write of a+256", "a read by block (0,0,0), thread (0,0,0), line",
                           "block (1,0,0), thread (0,0,0), kernel write_after_read_race"})
    EXPECT_NE(r.detail.find(part), std::string::npos) << part << " in " << r.detail;
}

// What the first, cheap run wrote before a race was suspected must not show.
TEST(GridRace, ASecondRunStartsFromTheSameMemory) {
  Launch l("same_value_clean", {8, 1, 1}, {64, 1, 1});
  l.in("a", std::vector<int>{1}).out("b", 4).in("s", std::vector<unsigned>{0});
  EXPECT_EQ(l.run(kernels("grid_races_sm_90.ptx")).verdict, Verdict::kOk);
  EXPECT_EQ(l.read<int>("b", 1)[0], 7);
  Launch add("sum_race", {8, 1, 1}, {64, 1, 1});
  add.in("a", std::vector<int>(512, 1)).out("b", 4).in("s", std::vector<unsigned>{5});
  EXPECT_EQ(add.run(kernels("grid_races_sm_90.ptx")).verdict, Verdict::kRace);
  EXPECT_EQ(add.read<unsigned>("s", 1)[0], 6u);  // block 0 of the second run only
}

TEST(GridRace, OffWhenNotAsked) {
  RunOptions options;
  options.check_races = false;
  EXPECT_EQ(run_one("sum_race", options).verdict, Verdict::kOk);
}

}  // namespace
}  // namespace hone::emulator
