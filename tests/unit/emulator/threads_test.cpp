// One launch on several host threads: whatever the kernel does, everything is as with one.
#include <atomic>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

/// A kernel k(in, out, sums) whose body finds these registers filled.
std::string kernel(const std::string& body) {
  return R"(.version 8.3
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[4] = {37, 117, 10, 0};
.visible .entry k(.param .u64 k_in, .param .u64 k_out, .param .u64 k_sums) {
  .reg .pred %p<8>;
  .reg .b16 %h<4>;
  .reg .b32 %r<32>;
  .reg .f32 %f<8>;
  .reg .b64 %d<16>;
  .shared .align 4 .b8 tile[256];
  ld.param.u64 %d1, [k_in];
  ld.param.u64 %d2, [k_out];
  ld.param.u64 %d3, [k_sums];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %nctaid.x;
  mov.u32 %r5, %ntid.x;
  mad.lo.s32 %r4, %r2, %r5, %r1;   // the thread's number
  mul.wide.u32 %d4, %r4, 4;
  add.u64 %d5, %d1, %d4;           // its places
  add.u64 %d6, %d2, %d4;
)" + body +
         "  ret;\n}\n";
}

constexpr std::uint32_t kBlocks = 96;
constexpr std::uint32_t kThreads = 64;

struct Outcome {
  RunReport report;
  std::string contents;
};

Outcome run(const std::string& body, const RunOptions& options, std::uint32_t blocks = kBlocks) {
  const auto module = load(kernel(body));
  Launch launch("k", {blocks, 1, 1}, {kThreads, 1, 1});
  std::vector<std::uint32_t> in(kBlocks * kThreads);
  for (std::uint32_t i = 0; i < in.size(); ++i) in[i] = i * 2654435761u;
  launch.in("in", in)
      .out("out", std::size_t{kBlocks} * kThreads * 4)
      .in("sums", std::vector<std::uint32_t>(64));
  Outcome outcome;
  outcome.report = launch.run(module, options);
  outcome.contents = launch.contents();
  return outcome;
}

enum class Runs { kParallel, kInOrder };

/// The same with 1, 2, 4 and 7 threads, several times, under every combination of checks;
/// `with_all` says whether several threads could do it with all checks on.
Outcome same(const std::string& body, Runs with_all, RunOptions options = {},
             std::uint32_t blocks = kBlocks) {
  Outcome first;
  options.counters = false;
  options.threads_after = 0;
  const int findings = options.max_findings;
  for (const int checks : {3, 0, 1, 2}) {
    options.check_initialised = (checks & 1) != 0;
    options.check_races = (checks & 2) != 0;
    for (const int limit : {findings, 20}) {
      options.max_findings = limit;
      options.threads = 1;
      const Outcome want = run(body, options, blocks);
      EXPECT_EQ(want.report.threads, 1);
      if (checks == 3 && limit == findings) first = want;
      for (const int threads : {2, 4, 7, 4, 4}) {
        options.threads = threads;
        const Outcome got = run(body, options, blocks);
        EXPECT_EQ(everything(got.report), everything(want.report))
            << threads << " threads, checks " << checks << ": " << got.report.detail << " and not "
            << want.report.detail;
        EXPECT_TRUE(got.contents == want.contents) << threads << " threads, checks " << checks;
        if (checks == 3) {
          EXPECT_EQ(got.report.threads, with_all == Runs::kParallel ? threads : 1);
        }
      }
    }
  }
  return first;
}

const char* const kCopy = R"(
  ld.global.u32 %r6, [%d5];
  add.u32 %r6, %r6, 1;
  st.global.u32 [%d6], %r6;
)";

TEST(Threads, BlocksThatKeepToThemselves) {
  EXPECT_EQ(same(kCopy, Runs::kParallel).report.verdict, Verdict::kOk);
}

TEST(Threads, CountersKeepThemToOne) {
  RunOptions options;
  options.threads = 4;
  options.threads_after = 0;
  const Outcome four = run(kCopy, options);
  EXPECT_EQ(four.report.threads, 1);
  options.threads = 1;
  EXPECT_EQ(everything(four.report), everything(run(kCopy, options).report));
}

TEST(Threads, ASeedKeepsThemToOne) {
  RunOptions options;
  options.counters = false;
  options.schedule_seed = 3;
  options.threads = 4;
  options.threads_after = 0;
  EXPECT_EQ(run(kCopy, options).report.threads, 1);
}

// All bytes of one 64-bit word of the written bits by different blocks.
TEST(Threads, NarrowStoresSideBySide) {
  const Outcome o = same(R"(
  mad.lo.u32 %r6, %r1, %r3, %r2;
  cvt.u64.u32 %d7, %r6;
  add.u64 %d7, %d2, %d7;
  cvt.u16.u32 %h1, %r6;
  st.global.u8 [%d7], %h1;
)",
                         Runs::kParallel);
  EXPECT_EQ(o.report.verdict, Verdict::kOk) << o.report.detail;
}

TEST(Threads, IntegerAtomicsWhoseResultNobodyReads) {
  for (const char* op : {"add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32"}) {
    for (const char* form : {"red.global.", "atom.global."}) {
      const std::string result = *form == 'a' ? "%r7, " : "";
      const Outcome o = same(
          "  ld.global.u32 %r6, [%d5];\n  and.b32 %r8, %r1, 7;\n"
          "  mul.wide.u32 %d7, %r8, 4;\n  add.u64 %d7, %d3, %d7;\n  " +
              (form + std::string(op)) + " " + result + "[%d7], %r6;\n",
          Runs::kParallel);
      EXPECT_EQ(o.report.verdict, Verdict::kOk) << op << o.report.detail;
    }
  }
}

TEST(Threads, WideAtomics) {
  same(R"(
  ld.global.u32 %r6, [%d5];
  mul.wide.u32 %d7, %r6, %r6;
  red.global.add.u64 [%d3], %d7;
)",
       Runs::kParallel);
}

TEST(Threads, AtomicsOfTwoKindsAreDoneInOrder) {
  same(R"(
  red.global.add.u32 [%d3], %r2;
  red.global.max.u32 [%d3], 1000;
)",
       Runs::kInOrder);
  same(R"(
  cvt.u64.u32 %d7, %r2;
  red.global.add.u64 [%d3], -1;
  red.global.add.u32 [%d3], %r2;
)",
       Runs::kInOrder);
  same(R"(
  red.global.max.u32 [%d3], %r2;
  red.global.max.s32 [%d3+4], %r2;
)",
       Runs::kInOrder);
}

// Who comes first gets the first ticket: grid order.
TEST(Threads, TicketsAreGivenInOrder) {
  const Outcome o = same(R"(
  atom.global.add.u32 %r6, [%d3], 1;
  st.global.u32 [%d6], %r6;
)",
                         Runs::kInOrder);
  EXPECT_EQ(o.report.verdict, Verdict::kOk);
}

TEST(Threads, FloatSumsAreMadeInOrder) {
  const Outcome o = same(R"(
  ld.global.u32 %r6, [%d5];
  cvt.rn.f32.u32 %f1, %r6;
  red.global.add.f32 [%d3], %f1;
)",
                         Runs::kInOrder);
  EXPECT_EQ(o.report.verdict, Verdict::kOk);
}

// Block 0 waits for what the last block stores.
TEST(Threads, ABlockThatSpinsOnAnothersFlag) {
  const Outcome o = same(R"(
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra SET;
SPIN:
  ld.volatile.global.u32 %r6, [%d3];
  setp.eq.u32 %p2, %r6, 0;
  @%p2 bra SPIN;
  st.global.u32 [%d6], %r6;
  ret;
SET:
  sub.u32 %r7, %r3, 1;
  setp.ne.u32 %p3, %r2, %r7;
  @%p3 ret;
  mov.u32 %r8, 7;
  st.volatile.global.u32 [%d3], %r8;
)",
                         Runs::kInOrder);
  EXPECT_EQ(o.report.verdict, Verdict::kOk) << o.report.detail;
}

// Plain loads: nothing says beforehand that blocks talk; it ends with the instructions.
TEST(Threads, APlainLoopThatWaitsForAnotherBlock) {
  RunOptions options;
  options.max_warp_instructions = 200'000;
  const Outcome o = same(R"(
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra SET;
SPIN:
  ld.global.u32 %r6, [%d3];
  setp.eq.u32 %p2, %r6, 0;
  @%p2 bra SPIN;
  ret;
SET:
  mov.u32 %r8, 7;
  st.global.u32 [%d3], %r8;
)",
                         Runs::kInOrder, options);
  EXPECT_EQ(o.report.verdict, Verdict::kTimeout) << o.report.detail;
}

TEST(Threads, OutOfBoundsInBlock57) {
  const Outcome o = same(R"(
  setp.eq.u32 %p1, %r2, 57;
  @%p1 add.u64 %d6, %d6, 1048576;
  st.global.u32 [%d6], %r4;
)",
                         Runs::kInOrder);
  EXPECT_NE(o.report.detail.find("block (57,0,0), thread (0,0,0)"), std::string::npos)
      << o.report.detail;
}

TEST(Threads, EveryBlockOutOfBounds) {
  RunOptions options;
  options.max_findings = 5;
  const Outcome o = same("  st.global.u32 [%d6+1048576], %r4;\n", Runs::kInOrder, options);
  ASSERT_EQ(o.report.findings.size(), 1u);
  EXPECT_EQ(o.report.findings[0].count, std::uint64_t{kBlocks} * kThreads);
}

const char* const kLoop = R"(
  mov.u32 %r6, 0;
LOOP:
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, 1000;
  @%p1 bra LOOP;
  st.global.u32 [%d6], %r6;
)";

TEST(Threads, TheLimitOnInstructionsIsOfAllBlocks) {
  RunOptions options;
  const Outcome whole = same(kLoop, Runs::kParallel);
  const std::uint64_t all = whole.report.counters.warp_instructions;
  options.max_warp_instructions = all;
  EXPECT_EQ(same(kLoop, Runs::kParallel, options).report.verdict, Verdict::kOk);
  options.max_warp_instructions = all - 1;
  const Outcome over = same(kLoop, Runs::kInOrder, options);
  EXPECT_EQ(over.report.verdict, Verdict::kTimeout);
  options.max_warp_instructions = all / 3;
  same(kLoop, Runs::kInOrder, options);
}

TEST(Threads, OneBlockNeverEnds) {
  RunOptions options;
  options.max_warp_instructions = 3'000'000;
  const Outcome o = same(R"(
  setp.ne.u32 %p1, %r2, 41;
  @%p1 ret;
LOOP:
  add.u32 %r6, %r4, 1;
  bra LOOP;
)",
                         Runs::kInOrder, options);
  EXPECT_EQ(o.report.verdict, Verdict::kTimeout);
}

TEST(Threads, TextComesInOrder) {
  const Outcome o = same(R"(
  .local .align 8 .b8 arguments[8];
  .reg .b64 %SP;
  mov.u64 %d7, arguments;
  st.local.u32 [%d7], %r2;
  cvta.local.u64 %d8, %d7;
  mov.u64 %d9, text;
  cvta.global.u64 %d10, %d9;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 ret;
  {
  .param .b64 p0;
  st.param.b64 [p0], %d10;
  .param .b64 p1;
  st.param.b64 [p1], %d8;
  .param .b32 result;
  call.uni (result), vprintf, (p0, p1);
  }
)",
                         Runs::kInOrder);
  EXPECT_EQ(o.report.verdict, Verdict::kOk) << o.report.detail;
  EXPECT_TRUE(o.report.output.starts_with("0\n1\n2\n3\n")) << o.report.output;
}

// Block b reads what block b + 1 writes.
TEST(Threads, ARaceBetweenBlocks) {
  const Outcome o = same(R"(
  add.u32 %r6, %r4, %r5;
  mul.lo.u32 %r7, %r3, %r5;
  rem.u32 %r6, %r6, %r7;
  mul.wide.u32 %d7, %r6, 4;
  add.u64 %d7, %d1, %d7;
  ld.global.u32 %r8, [%d7];
  st.global.u32 [%d5], %r8;
)",
                         Runs::kInOrder);
  EXPECT_EQ(o.report.verdict, Verdict::kRace) << o.report.detail;
}

// The answer hangs on the order, though nobody looks for races.
TEST(Threads, ALaterBlockReadsWhatAnEarlierOneWrote) {
  same(R"(
  mov.u32 %r6, 1;
  st.global.u32 [%d6], %r6;
  setp.eq.u32 %p1, %r2, 0;
  @%p1 ret;
  mul.wide.u32 %d7, %r5, 4;
  sub.u64 %d8, %d6, %d7;
  ld.global.u32 %r7, [%d8];
  add.u32 %r7, %r7, 1;
  st.global.u32 [%d6], %r7;
)",
       Runs::kInOrder);
}

TEST(Threads, AllWriteOnePlace) {
  same("  st.global.u32 [%d3], %r2;\n", Runs::kInOrder);
  same("  st.global.u32 [%d3], 5;\n", Runs::kInOrder);
}

TEST(Threads, UninitialisedGlobalMemory) {
  const Outcome o = same(R"(
  ld.global.u32 %r6, [%d6];
  st.global.u32 [%d5], %r6;
)",
                         Runs::kInOrder);
  EXPECT_EQ(o.report.findings.at(0).kind, FindingKind::kUninitialised);
  // Read, but without effect.
  same(R"(
  ld.global.u32 %r6, [%d6];
  st.global.u32 [%d5], %r4;
)",
       Runs::kParallel);
}

// What a register holds that nobody wrote may not come from an earlier block.
TEST(Threads, RegistersThatNobodyWrote) {
  same(R"(
  st.global.u32 [%d5], %r20;
  add.u32 %r20, %r4, 1;
  setp.lt.u32 %p1, %r20, 3000;
  @%p1 mov.u32 %r21, %r20;
  st.global.u32 [%d6], %r21;
)",
       Runs::kInOrder);
}

TEST(Threads, SharedMemoryAndShuffles) {
  same(R"(
  mov.u32 %r6, tile;
  shl.b32 %r7, %r1, 2;
  add.u32 %r6, %r6, %r7;
  st.shared.u32 [%r6], %r4;
  bar.sync 0;
  xor.b32 %r7, %r7, 128;
  mov.u32 %r8, tile;
  add.u32 %r8, %r8, %r7;
  ld.shared.u32 %r9, [%r8];
  shfl.sync.bfly.b32 %r10, %r9, 5, 31, -1;
  st.global.u32 [%d6], %r10;
)",
       Runs::kParallel);
  // Never written: harmless with one block and every check, but its value is nobody's business.
  same(R"(
  mov.u32 %r6, tile;
  ld.shared.u32 %r9, [%r6];
  st.global.u32 [%d6], %r9;
)",
       Runs::kInOrder);
}

TEST(Threads, TheClockIsReadInOrder) {
  same(R"(
  mov.u32 %r6, %clock;
  st.global.u32 [%d6], %r6;
)",
       Runs::kInOrder);
}

TEST(Threads, Cancelled) {
  std::atomic<bool> cancel = true;
  RunOptions options;
  options.cancel = &cancel;
  const Outcome o = same(kLoop, Runs::kInOrder, options);
  EXPECT_EQ(o.report.verdict, Verdict::kTimeout);
  EXPECT_NE(o.report.detail.find("cancelled"), std::string::npos) << o.report.detail;
}

TEST(Threads, FewBlocks) {
  same(kCopy, Runs::kInOrder, {}, 1);
  RunOptions options;
  options.counters = false;
  options.threads = 7;
  EXPECT_EQ(run(kCopy, options, 3).report.threads, 1);  // not worth a second one
  options.threads_after = 0;
  EXPECT_EQ(run(kCopy, options, 3).report.threads, 3);
  options.threads_after = 20;
  const int joined = run(kLoop, options).report.threads;
  EXPECT_GE(joined, 2);
  EXPECT_LE(joined, 7);
}

// A launch that was given up leaves memory as it was, with what launches before it wrote.
TEST(Threads, SeveralLaunchesInOneMemory) {
  const auto write = load(kernel("  st.global.u32 [%d6], %r4;\n"));
  const auto race = load(kernel("  st.global.u32 [%d3], %r2;\n  st.global.u32 [%d6], %r2;\n"));
  std::string want;
  for (const int threads : {1, 2, 4}) {
    RunOptions options;
    options.counters = options.check_races = false;
    options.threads_after = 0;
    options.threads = threads;
    Launch launch("k", {kBlocks, 1, 1}, {kThreads, 1, 1});
    launch.in("in", std::vector<std::uint32_t>(kBlocks * kThreads))
        .out("out", std::size_t{kBlocks} * kThreads * 4 + 64)
        .in("sums", std::vector<std::uint32_t>(64));
    std::string all;
    for (const auto& module : {write, race, write, race}) {
      all += everything(launch.run(module, options)) + launch.contents();
    }
    if (threads == 1) want = all;
    EXPECT_TRUE(all == want) << threads;
  }
}

}  // namespace
}  // namespace hone::emulator
