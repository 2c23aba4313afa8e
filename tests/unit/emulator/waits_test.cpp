// What the counters say of things that a warp waits for, whatever its code is.
#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

const Profile& h200() { return *find_profile("sm_90"); }

std::string ptx(const std::string& body, const std::string& more = {}) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .b64 p0, "
         ".param .b32 p1)\n" +
         more +
         "{\n.reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<9>;\n"
         ".shared .align 8 .b8 s[4096];\n"
         "ld.param.u64 %rd1, [p0];\nld.param.u32 %r1, [p1];\nmov.u32 %r2, %tid.x;\n"
         "mov.u32 %r3, %ctaid.x;\n" +
         body + "ret;\n}\n";
}

Counters counted(const std::string& body, std::uint32_t blocks, std::uint32_t threads,
                 const RunOptions& options = {}, const std::string& more = {}) {
  const auto module = load(ptx(body, more));
  Launch l("k", {blocks, 1, 1}, {threads, 1, 1});
  l.in("data", std::vector<std::uint32_t>(1 << 16)).value(3u);
  RunOptions o = options;
  o.check_races = o.check_initialised = false;
  const RunReport r = l.run(module, o);
  EXPECT_EQ(r.verdict, Verdict::kOk) << r.detail;
  return r.counters;
}

/// A loop of `rounds` dependent steps for warp `warp`.
std::string work(const std::string& label, int warp, int rounds) {
  return "shr.u32 %r4, %r2, 5;\nsetp.ne.u32 %p1, %r4, " + std::to_string(warp) + ";\n@%p1 bra E" +
         label + ";\nmov.u32 %r5, 0;\nL" + label +
         ":\nmad.lo.u32 %r6, %r6, %r6, 7;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p2, %r5, " +
         std::to_string(rounds) + ";\n@%p2 bra L" + label + ";\nE" + label + ":\n";
}

TEST(Waits, WarpsThatTakeTurnsTakeTheirSum) {
  std::string turns;
  for (int w = 0; w < 4; ++w) turns += work(std::to_string(w), w, 500) + "bar.sync 0;\n";
  const Counters alone = counted(work("0", 0, 500), 1, 128);
  const Counters c = counted(turns, 1, 128);
  EXPECT_GT(c.critical_path_sum, 39 * alone.critical_path_sum / 10);
  // Each of the four did a quarter of it.
  EXPECT_LT(c.warp_path_sum, 11 * c.critical_path_sum / 10);
  EXPECT_GT(c.warp_path_sum, 9 * c.critical_path_sum / 10);
  EXPECT_EQ(c.given_path_sum, 0u);
}

TEST(Waits, SleepsAndFencesTakeTheirTimeWhateverTheCodeIs) {
  const auto cycles = [](double ns) { return ns * 1e-9 * h200().clock_hz; };
  const Counters slept = counted("nanosleep.u32 2000;\nnanosleep.u32 %r1;\n", 1, 32);
  EXPECT_GT(static_cast<double>(slept.given_path_sum), cycles(2000));
  EXPECT_LE(static_cast<double>(slept.given_path_sum), cycles(2 * 2003));
  EXPECT_LT(slept.warp_path_sum, 200u);
  const std::string store =
      "mul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd2, %rd2, %rd1;\n"
      "st.global.u32 [%rd2], %r2;\n";
  const Counters fenced = counted(store + "fence.acq_rel.gpu;\n", 1, 32);
  EXPECT_GT(static_cast<double>(fenced.given_path_sum), h200().l2_latency);
  EXPECT_EQ(counted(store + "membar.cta;\n", 1, 32).given_path_sum, 0u);
  // Whoever waits at a barrier for one that slept has waited as long.
  const Counters met =
      counted("setp.gt.u32 %p1, %r2, 31;\n@%p1 nanosleep.u32 2000;\nbar.sync 0;\n", 1, 64);
  EXPECT_GT(static_cast<double>(met.given_path_sum), cycles(2000));
}

TEST(Waits, AnAsynchronousCopyTakesWhatALoadTakes) {
  const std::string copy = "mov.u32 %r5, s;\ncp.async.ca.shared.global [%r5], [%rd1], 4;\n";
  const Counters c = counted(copy + "cp.async.wait_all;\n", 1, 1);
  EXPECT_GT(static_cast<double>(c.given_path_sum), 0.9 * h200().dram_latency);
  // What is done before the wait is not waited for.
  const Counters hidden = counted(copy + work("0", 0, 2000) + "cp.async.wait_all;\n", 1, 1);
  EXPECT_EQ(hidden.given_path_sum, 0u);
}

TEST(Waits, FloatsInSharedMemoryAreAddedOneAfterAnother) {
  const std::string at = "mov.u32 %r5, s;\n",
                    each = "shl.b32 %r7, %r2, 2;\nadd.u32 %r5, %r5, %r7;\n";
  const auto turn = static_cast<std::uint64_t>(h200().shared_atomic_same_address_float_cycles);
  const auto waited = [&](const std::string& body, std::uint32_t threads) {
    return counted(at + body, 1, threads).given_path_sum;
  };
  const std::string add = "red.shared.add.f32 [%r5], %f1;\n";
  EXPECT_EQ(waited(add, 32), 32 * turn);
  EXPECT_GE(waited(add, 128), 128 * turn);  // of any warp
  EXPECT_LE(waited(add, 128), 129 * turn);
  EXPECT_EQ(waited(each + add, 32), turn);
  EXPECT_GT(waited("red.shared.add.u64 [%r5], %rd3;\n", 32), 3 * 32 * turn / 2);
  EXPECT_EQ(waited("red.shared.add.u32 [%r5], %r6;\n", 32), 0u);
}

TEST(Waits, StoresToOneSectorOfAllBlocksShareASlice) {
  const Counters hot = counted(
      "rem.u32 %r5, %r2, 7;\nmul.wide.u32 %rd2, %r5, 4;\nadd.s64 %rd2, %rd2, %rd1;\n"
      "st.global.u32 [%rd2], %r2;\n",
      64, 64);
  EXPECT_EQ(hot.hot_sectors, 128u);
  EXPECT_EQ(hot.hot_shared, 1u);
  EXPECT_EQ(counted("st.global.u32 [%rd1], %r2;\n", 64, 64).hot_sectors, 0u)
      << "one word of a warp does not wait";
  const Counters spread = counted(
      "mad.lo.u32 %r5, %r3, 64, %r2;\nmul.wide.u32 %rd2, %r5, 4;\nadd.s64 %rd2, %rd2, %rd1;\n"
      "st.global.u32 [%rd2], %r2;\n",
      64, 64);
  EXPECT_LE(spread.hot_sectors, 4u);
  EXPECT_EQ(spread.hot_shared, 0u);
}

TEST(Waits, APrefetchIsTrafficOfTheL2) {
  const Counters c = counted(
      "mul.wide.u32 %rd2, %r2, 128;\nadd.s64 %rd2, %rd2, %rd1;\n"
      "prefetch.global.L2 [%rd2];\n",
      1, 32);
  EXPECT_EQ(c.l1_miss_lines, 32u);
  EXPECT_EQ(c.l2_miss_sectors, 64u);  // the DRAM gives two at once
  EXPECT_EQ(counted("prefetch.global.L2 [%rd1];\n", 1, 32).l1_miss_lines, 1u);
  EXPECT_EQ(counted("mov.u64 %rd1, 0;\nprefetch.global.L2 [%rd1];\n", 1, 32).l1_miss_lines, 0u);
  EXPECT_EQ(counted("cp.async.bulk.prefetch.L2.global [%rd1], 1024;\n", 1, 1).l1_miss_lines, 8u);
}

TEST(Waits, OtherBlocksSharedMemoryIsCountedApart) {
  const std::string load =
      "mov.u32 %r5, s;\nshl.b32 %r7, %r2, 2;\nadd.u32 %r5, %r5, %r7;\n"
      "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
      "mapa.shared::cluster.u32 %r6, %r5, RANK;\nld.shared::cluster.u32 %r8, [%r6];\n"
      "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
  const auto of = [&](const std::string& rank) {
    std::string body = load;
    body.replace(body.find("RANK"), 4, rank);
    return counted(body, 4, 32, {}, ".reqnctapercluster 2, 1, 1\n");
  };
  EXPECT_EQ(of("0").remote_bytes, 2u * 128);  // of one in each cluster it is its own
  EXPECT_GE(of("0").given_path_sum, 4u * 2 * 190);
}

TEST(Waits, ATableStaysInTheL1ForLaterBlocks) {
  // Each block reads the same 4 KB.
  const std::string table =
      "mul.wide.u32 %rd2, %r2, 32;\nadd.s64 %rd2, %rd2, %rd1;\n"
      "ld.global.u32 %r5, [%rd2];\n";
  const Counters few = counted(table, 132, 128);  // one an SM
  EXPECT_EQ(few.l1_miss_sectors, 132u * 128);
  const Counters many = counted(table, 132 * 8, 128);
  EXPECT_EQ(many.l1_miss_sectors, 132u * 128);
  RunOptions sample;
  sample.sample_blocks = 64;
  EXPECT_LE(counted(table, 132 * 64, 128, sample).l1_miss_sectors, 8u * 128);
}

TEST(Waits, ASampleMeetsTheBlockThatIsTreatedApart) {
  RunOptions sample;
  sample.sample_blocks = 16;
  sample.sample_seed = 5;
  const auto longest = [&](const std::string& condition) {
    return counted("mov.u32 %r9, %nctaid.x;\n" + condition + "@%p5 bra Out;\n" +
                       work("0", 0, 3000) + "Out:\n",
                   5000, 32, sample)
        .critical_path_cycles;
  };
  EXPECT_GT(longest("setp.ne.u32 %p5, %r3, 3217;\n"), 9000u);
  EXPECT_GT(longest("shr.u32 %r8, %r9, 1;\nsetp.ne.u32 %p5, %r3, %r8;\n"), 9000u);
  EXPECT_GT(longest("mad.lo.u32 %r8, %r1, 700, 11;\nsetp.ne.u32 %p4, %r3, %r8;\n"
                    "setp.ne.u32 %p6, %r2, 0;\nor.pred %p5, %p4, %p6;\n"),
            9000u);
  EXPECT_LT(longest("setp.ne.u32 %p5, %r3, 7777;\n"), 500u);  // there is none
}

}  // namespace
}  // namespace hone::emulator
