// How late blocks are that wait for other blocks.
#include "evaluator/device/emulator/sim/ordered_words.h"

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

constexpr std::uint32_t kBlocks = 24;

std::uint64_t l2() { return static_cast<std::uint64_t>(find_profile("sm_90")->l2_latency); }

TEST(OrderedWords, RememberWhatWasThereWhen) {
  OrderedWords words;
  EXPECT_FALSE(words.at(64, 0));
  words.wrote(64, 0, 5, 100);
  words.wrote(64, 5, 5, 150);  // no change
  words.wrote(68, 5, 7, 200);  // the same word
  words.wrote(64, 7, 9, 180);  // no earlier than the change before
  ASSERT_TRUE(words.at(64, 99));
  EXPECT_EQ(words.at(64, 99)->value, 0u);
  EXPECT_EQ(words.at(64, 99)->next, 100u);
  EXPECT_EQ(words.at(64, 100)->value, 5u);
  EXPECT_EQ(words.at(64, 199)->next, 200u);
  EXPECT_FALSE(words.at(64, 200));
  EXPECT_FALSE(words.at(72, 0));
}

/// Each block does `before`, waits by `look` until the one before it has said so, and says so.
RunReport chain(const std::string& before, const std::string& look, bool in_time = true,
                std::uint32_t blocks = kBlocks, std::vector<std::uint64_t> sample = {}) {
  const std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .b64 p0)\n"
      "{\n.reg .pred %p<5>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<5>;\n"
      "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %ctaid.x;\n"
      "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd2, %rd2, %rd1;\n" +
      before + "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra SAY;\nLOOK:\n" + look +
      "setp.eq.u32 %p2, %r2, 0;\n@%p2 bra LOOK;\n"
      "SAY:\nmov.u32 %r3, 1;\nst.volatile.global.u32 [%rd2], %r3;\nret;\n}\n";
  const auto module = load(text);
  Launch l("k", {blocks, 1, 1}, {1, 1, 1});
  l.in("data", std::vector<std::uint32_t>(blocks));
  RunOptions o;
  o.check_races = o.check_initialised = false;
  o.waits_in_time = in_time;
  if (!sample.empty()) o.blocks = &sample;
  RunReport report = l.run(module, o);
  EXPECT_EQ(report.verdict, Verdict::kOk) << report.detail;
  return report;
}

std::string work(int rounds) {
  return "mov.u32 %r5, 0;\nWORK:\nmad.lo.u32 %r6, %r6, %r6, 7;\nadd.u32 %r5, %r5, 1;\n"
         "setp.lt.u32 %p3, %r5, " +
         std::to_string(rounds) + ";\n@%p3 bra WORK;\n";
}

const std::string kLoad = "ld.volatile.global.u32 %r2, [%rd2+-4];\n",
                  kAcquire = "ld.acquire.gpu.global.u32 %r2, [%rd2+-4];\n",
                  kAtomic = "atom.global.or.b32 %r2, [%rd2+-4], 0;\n";

TEST(OrderedWords, AChainOfBlocksIsAsLongAsItsSteps) {
  for (const std::string& look : {kLoad, kAcquire, kAtomic}) {
    const Counters c = chain("", look).counters;
    EXPECT_GT(c.waited_cycles, (kBlocks - 1) * l2()) << look;
    EXPECT_LT(c.waited_cycles, kBlocks * 5 * l2()) << look;
    EXPECT_EQ(chain("", look, false).counters.waited_cycles, 0u);
    // Waiting is not work.
    EXPECT_LT(c.critical_path_sum, kBlocks * 8 * l2()) << look;
  }
}

TEST(OrderedWords, NobodyIsLateWhoComesWhenItIsThere) {
  // The later a block, the more it has to do first.
  const std::string more =
      "mul.lo.u32 %r4, %r1, 300;\nmov.u32 %r5, 0;\nWORK:\n"
      "mad.lo.u32 %r6, %r6, %r6, 7;\nadd.u32 %r5, %r5, 1;\n"
      "setp.lt.u32 %p3, %r5, %r4;\n@%p3 bra WORK;\n";
  EXPECT_EQ(chain(more, kLoad).counters.waited_cycles, 0u);
  EXPECT_GT(chain(work(300), kLoad).counters.waited_cycles, (kBlocks - 1) * l2());
}

TEST(OrderedWords, TheRestOfAChainTakesAsLongAsWhatRan) {
  const auto whole = static_cast<double>(chain("", kLoad, true, 400).counters.waited_cycles);
  std::vector<std::uint64_t> first(100);
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = i;
  const RunReport part = chain("", kLoad, true, 400, first);
  EXPECT_NEAR(static_cast<double>(part.counters.waited_cycles), whole, 0.05 * whole);
}

}  // namespace
}  // namespace hone::emulator
