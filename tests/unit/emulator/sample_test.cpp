// Samples of a grid: which blocks run, and that counters which they draw from rise for all.
#include <algorithm>
#include <set>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

std::string ptx(const std::string& name, const std::string& parameters, const std::string& body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry " + name + "(" +
         parameters +
         ")\n{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<4>;\n" + body +
         "ret;\n}\n";
}

/// Each block, of one thread, draws a number and writes it to its own place of `seen`.
const std::string kDraw = ptx("draw", ".param .b64 counter, .param .b64 seen", R"(
  ld.param.u64 %rd1, [counter];
  ld.param.u64 %rd2, [seen];
  atom.global.add.u32 %r1, [%rd1], 3;
  mov.u32 %r2, %ctaid.x;
  mad.wide.u32 %rd3, %r2, 4, %rd2;
  st.global.u32 [%rd3], %r1;
)");

/// Each block draws until `tiles` are given out and writes how often it drew.
const std::string kQueue =
    ptx("queue", ".param .b64 counter, .param .b64 seen, .param .b32 tiles", R"(
  ld.param.u64 %rd1, [counter];
  ld.param.u64 %rd2, [seen];
  ld.param.u32 %r5, [tiles];
  mov.u32 %r3, 0;
Loop:
  atom.global.add.u32 %r1, [%rd1], 1;
  setp.ge.u32 %p1, %r1, %r5;
  @%p1 bra End;
  add.u32 %r3, %r3, 1;
  mov.u32 %r6, 0;
Work:
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p2, %r6, 400;
  @%p2 bra Work;
  bra Loop;
End:
  mov.u32 %r2, %ctaid.x;
  mad.wide.u32 %rd3, %r2, 4, %rd2;
  st.global.u32 [%rd3], %r3;
)");

constexpr std::uint32_t kBlocks = 64, kNone = 0xABCDABCD;

struct Seen {
  std::vector<std::uint32_t> values;  ///< of the blocks that ran
  std::uint32_t counter = 0;
};

Seen run(const std::string& text, const RunOptions& options, int tiles = -1) {
  const auto module = load(text);
  Launch l(module->kernels().front().name, {kBlocks, 1, 1}, {1, 1, 1});
  l.in("counter", std::vector<std::uint32_t>{0});
  l.in("seen", std::vector<std::uint32_t>(kBlocks, kNone));
  if (tiles >= 0) l.value(tiles);
  const RunReport r = l.run(module, options);
  EXPECT_EQ(r.verdict, Verdict::kOk) << r.detail;
  Seen seen;
  for (const std::uint32_t value : l.read<std::uint32_t>("seen", kBlocks))
    if (value != kNone) seen.values.push_back(value);
  seen.counter = l.read<std::uint32_t>("counter", 1).front();
  return seen;
}

RunOptions sample_of(std::int64_t blocks) {
  RunOptions options;
  options.sample_blocks = blocks;
  options.sample_seed = 7;
  options.share_counters = true;
  return options;
}

TEST(Sample, DrawsForTheBlocksThatItLeavesOut) {
  Seen seen = run(kDraw, sample_of(8));
  std::ranges::sort(seen.values);
  ASSERT_EQ(seen.values.size(), 8u);
  EXPECT_EQ(seen.values.front(), 0u) << "the first of all";
  EXPECT_EQ(seen.values.back(), 3 * (kBlocks - 1)) << "the last of all";
  for (std::size_t i = 1; i < seen.values.size(); ++i) {
    EXPECT_GE(seen.values[i] - seen.values[i - 1], 3 * 8u);
    EXPECT_LE(seen.values[i] - seen.values[i - 1], 3 * 10u);
  }
  EXPECT_EQ(seen.counter, 3 * kBlocks);
}

TEST(Sample, OfAllBlocksDrawsAsIs) {
  Seen seen = run(kDraw, sample_of(kBlocks));
  std::ranges::sort(seen.values);
  ASSERT_EQ(seen.values.size(), kBlocks);
  for (std::uint32_t i = 0; i < kBlocks; ++i) EXPECT_EQ(seen.values[i], 3 * i);
}

TEST(Sample, LeavesCountersAsTheyWereWhereAnotherFollows) {
  RunOptions options = sample_of(4);
  options.restore_counters = true;
  EXPECT_EQ(run(kDraw, options).counter, 0u);
}

/// A block that ran to its end before the next began would take all.
TEST(Sample, SharesAQueueOfWork) {
  constexpr int kTiles = 6400;
  for (const std::int64_t blocks : {1, 8}) {
    const Seen seen = run(kQueue, sample_of(blocks), kTiles);
    ASSERT_EQ(seen.values.size(), static_cast<std::size_t>(blocks));
    for (const std::uint32_t tiles : seen.values) {
      EXPECT_GT(tiles, kTiles / kBlocks * 2 / 3);
      EXPECT_LT(tiles, kTiles / kBlocks * 3 / 2);
    }
  }
}

TEST(Sample, ItsPlacesFollowFromTheSeed) {
  const auto blocks = [](std::uint64_t seed) {
    RunOptions options = sample_of(8);
    options.share_counters = false;
    options.sample_seed = seed;
    const auto module = load(kDraw);
    Launch l("draw", {kBlocks, 1, 1}, {1, 1, 1});
    l.in("counter", std::vector<std::uint32_t>{0});
    l.in("seen", std::vector<std::uint32_t>(kBlocks, kNone));
    EXPECT_EQ(l.run(module, options).counters.blocks, 8u);
    std::vector<int> ran;
    const auto seen = l.read<std::uint32_t>("seen", kBlocks);
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (seen[i] != kNone) ran.push_back(static_cast<int>(i));
    return ran;
  };
  EXPECT_EQ(blocks(5), blocks(5));
  std::set<int> ever;
  for (std::uint64_t seed = 1; seed < 60; ++seed) {
    const auto ran = blocks(seed);
    for (std::size_t quarter = 0; quarter < 4; ++quarter)
      EXPECT_EQ(ran[2 * quarter] / 16, static_cast<int>(quarter)) << "one run in each part";
    ever.insert(ran.begin(), ran.end());
  }
  EXPECT_EQ(ever.size(), kBlocks) << "every block may be chosen";
}

TEST(FollowsData, OnlyWhereABranchOrAnAddressDoes) {
  const auto follows = [](const std::string& body) {
    return follows_data(*load(ptx("k", ".param .b64 in, .param .b64 out, .param .b32 n", R"(
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r5, [n];
  mov.u32 %r2, %ctaid.x;
)" + body)),
                        "k");
  };
  EXPECT_FALSE(
      follows("setp.ge.u32 %p1, %r2, %r5;\n@%p1 bra E;\nld.global.u32 %r1, [%rd1];\n"
              "st.global.u32 [%rd2], %r1;\nE:\n"))
      << "guards by size";
  EXPECT_FALSE(
      follows("ld.global.u32 %r1, [%rd1];\nsetp.gt.s32 %p1, %r1, 0;\n"
              "selp.u32 %r3, %r1, 0, %p1;\nst.global.u32 [%rd2], %r3;\n"))
      << "a choice of values";
  EXPECT_TRUE(
      follows("ld.global.u32 %r1, [%rd1];\nsetp.gt.s32 %p1, %r1, 0;\n@%p1 bra E;\n"
              "st.global.u32 [%rd2], %r2;\nE:\n"));
  EXPECT_TRUE(
      follows("ld.global.u32 %r1, [%rd1];\nsetp.gt.s32 %p1, %r1, 0;\n"
              "@%p1 st.global.u32 [%rd2], %r2;\n"));
  EXPECT_TRUE(
      follows("ld.global.u32 %r1, [%rd1];\nmad.wide.u32 %rd3, %r1, 4, %rd2;\n"
              "st.global.u32 [%rd3], %r2;\n"));
  EXPECT_TRUE(
      follows("L:\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, %r4;\n"
              "ld.global.u32 %r4, [%rd1];\n@%p1 bra L;\n"))
      << "the branch stands before what it hangs on";
}

}  // namespace
}  // namespace hone::emulator
