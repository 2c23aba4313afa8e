// Lanes of one warp that read what another lane stored to global memory; turns at a word of shared
// memory.
#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

/// Each lane stores to its own word, does `between`, and loads the word `%r2` of the same buffer.
RunReport exchanged(const std::string& between, const std::string& word) {
  const std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .b64 p0, .param .b64 p1)\n{\n"
      ".reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
      "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nmov.u32 %r1, %tid.x;\n"
      "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd3, %rd1;\nst.global.u32 [%rd4], %r1;\n" +
      between + word +
      "mul.wide.u32 %rd5, %r2, 4;\nadd.s64 %rd5, %rd5, %rd1;\nld.global.u32 %r3, [%rd5];\n"
      "add.s64 %rd6, %rd3, %rd2;\nst.global.u32 [%rd6], %r3;\nret;\n}\n";
  Launch l("k", {1, 1, 1}, {32, 1, 1});
  l.in("data", std::vector<std::uint32_t>(64)).out("out", 128);
  RunOptions options;
  options.check_races = true;
  return l.run(load(text), options);
}

const std::string kOwn = "mov.u32 %r2, %r1;\n", kNext = "xor.b32 %r2, %r1, 1;\n",
                  kApart = "add.u32 %r2, %r1, 32;\n";

TEST(LaneStores, AnotherLanesWordIsARace) {
  const RunReport report = exchanged("", kNext);
  EXPECT_EQ(report.verdict, Verdict::kRace) << report.detail;
}

TEST(LaneStores, ThatItIsThereAfterMeeting) {
  for (const char* meeting : {"bar.warp.sync 0xffffffff;\n", "bar.sync 0;\n"}) {
    const RunReport report = exchanged(meeting, kNext);
    EXPECT_EQ(report.verdict, Verdict::kOk) << meeting << report.detail;
  }
}

TEST(LaneStores, ALanesOwnWordAndWhatNobodyStoredAreNone) {
  for (const std::string& word : {kOwn, kApart})
    EXPECT_EQ(exchanged("", word).verdict, Verdict::kOk) << word;
}

/// Each warp's first lane swaps a word of shared memory from 0 to 1 until that fits, and back.
std::uint64_t shared_cycles(bool one_word) {
  const std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .b64 p0)\n{\n"
      ".reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n.shared .align 4 .b8 words[256];\n"
      "mov.u32 %r1, %tid.x;\nmov.u32 %r2, words;\nshr.u32 %r3, %r1, 5;\nshl.b32 %r3, %r3, 2;\n"
      "mov.u32 %r4, 0;\n"
      "setp.ge.u32 %p1, %r1, 64;\nshl.b32 %r5, %r1, 2;\nadd.u32 %r5, %r5, %r2;\n"
      "@%p1 bra BEGUN;\nst.shared.u32 [%r5], %r4;\nBEGUN:\nbar.sync 0;\n" +
      std::string(one_word ? "" : "add.u32 %r2, %r2, %r3;\n") +
      "and.b32 %r6, %r1, 31;\nsetp.ne.u32 %p1, %r6, 0;\n@%p1 bra DONE;\n"
      "TRY:\natom.shared.cas.b32 %r7, [%r2], 0, 1;\nsetp.ne.u32 %p2, %r7, 0;\n@%p2 bra TRY;\n"
      "atom.shared.exch.b32 %r7, [%r2], 0;\nDONE:\nret;\n}\n";
  Launch l("k", {1, 1, 1}, {1024, 1, 1});
  l.in("data", std::vector<std::uint32_t>(1));
  RunOptions options;
  options.profile = find_profile("sm_90");
  const RunReport report = l.run(load(text), options);
  EXPECT_EQ(report.verdict, Verdict::kOk) << report.detail;
  return report.counters.shared_atomic_cycles;
}

TEST(SharedTurns, WarpsThatSwapOneWordTryInVain) {
  EXPECT_GT(shared_cycles(true), 4 * shared_cycles(false));
}

}  // namespace
}  // namespace hone::emulator
