// Asynchronous work between the blocks of a cluster: multicast copies, copies and reductions into
// another block's shared memory, st.async and red.async, mbarriers of other blocks; and what wrong
// use of each is reported as.
#include <fmt/format.h>

#include <numeric>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

constexpr int kBlocks = 4, kThreads = 64, kWords = 64;

// One kernel: %rank, %tid, an mbarrier `bar` with the given count that is initialised and known to
// the cluster, `tile` of 64 words that hold 1000 rank + i in each block, `other` of 64 more. What
// `tile` holds at the end goes to out, block by block.
std::string kernel(const std::string& body, int count = 1) {
  return fmt::format(R"(.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
.reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<32>, %rank, %tid; .reg .b64 %x<16>;
.shared .align 128 .b8 tile[256];
.shared .align 128 .b8 other[256];
.shared .align 8 .b64 bar;
.shared .align 8 .b64 free;
mov.u32 %rank, %cluster_ctarank;
mov.u32 %tid, %tid.x;
ld.param.u64 %x0, [in];
mov.u32 %r0, tile;
mov.u32 %r1, bar;
mov.u32 %r2, other;
mov.u32 %r3, free;
mad.lo.u32 %r4, %tid, 4, %r0;
mad.lo.u32 %r5, %tid, 4, %r2;
mad.lo.u32 %r6, %rank, 1000, %tid;
st.shared.b32 [%r4], %r6;
st.shared.b32 [%r5], %r6;
setp.eq.u32 %p0, %tid, 0;
setp.eq.u32 %p1, %rank, 0;
and.pred %p2, %p0, %p1;
@%p0 mbarrier.init.shared.b64 [%r1], {};
@%p0 mbarrier.init.shared.b64 [%r3], {};
fence.mbarrier_init.release.cluster;
fence.proxy.async;
barrier.cluster.arrive;
barrier.cluster.wait;
{}
DONE:
ld.shared.b32 %r20, [%r4];
ld.param.u64 %x1, [out];
mov.u32 %r21, %ctaid.x;
mad.lo.u32 %r21, %r21, 64, %tid;
mad.wide.u32 %x1, %r21, 4, %x1;
st.global.b32 [%x1], %r20;
barrier.cluster.arrive;
barrier.cluster.wait;
ret;
}}
)",
                     count, kBlocks, body);
}

struct Outcome {
  RunReport report;
  std::vector<int> out;
};
Outcome run(const std::string& text, std::uint64_t seed = 0, std::uint32_t clusters = 2) {
  std::vector<int> in(2 * kWords);
  std::iota(in.begin(), in.end(), 50000);
  Launch l("k", {kBlocks * clusters, 1, 1}, {kThreads, 1, 1});
  l.config().cluster = {kBlocks, 1, 1};
  l.in("in", in).out("out", kBlocks * clusters * kWords * 4);
  RunOptions options;
  options.schedule_seed = seed;
  Outcome o;
  o.report = l.run(load(text), options);
  o.out = l.read<int>("out", kBlocks * clusters * kWords);
  return o;
}

/// Right in every schedule: word i of block b is want(b % kBlocks, i).
template <class Want>
void expect_words(const std::string& text, Want want) {
  for (const std::uint64_t seed : {0, 1, 2, 3, 4}) {
    const Outcome o = run(text, seed);
    ASSERT_EQ(o.report.verdict, Verdict::kOk) << o.report.detail;
    for (int b = 0; b < kBlocks * 2; ++b)
      for (int i = 0; i < kWords; ++i)
        ASSERT_EQ(o.out[b * kWords + i], want(b % kBlocks, i))
            << "block " << b << " word " << i << " seed " << seed;
  }
}
void expect_report(const std::string& text, Verdict verdict, const std::string& what) {
  const Outcome o = run(text);
  EXPECT_EQ(o.report.verdict, verdict) << o.report.detail;
  EXPECT_NE(o.report.detail.find(what), std::string::npos) << o.report.detail;
}

const std::string kWait = R"(
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r1], 0;
@!%p5 bra WAIT;
)";
const std::string kMulticast = R"(
@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r0], [%x0], 256, [%r1], %h0;
)";

TEST(ClusterAsync, MulticastReachesTheBlocksOfItsMask) {
  const std::string text = kernel(R"(
mov.u16 %h0, 11;
setp.eq.u32 %p6, %rank, 2;
@%p6 bra DONE;
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 256;
)" + kMulticast + kWait);
  expect_words(text, [](int rank, int i) { return rank == 2 ? 2000 + i : 50000 + i; });
}

TEST(ClusterAsync, MulticastReadBeforeItsWaitIsReported) {
  expect_report(kernel("mov.u16 %h0, 15;\n"
                       "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 256;\n" +
                       kMulticast + "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"),
                Verdict::kRace, "bulk copy used before its wait: read of shared tile");
}

TEST(ClusterAsync, MulticastOverWhatAnotherBlockStillReadsIsReported) {
  const std::string read = "ld.shared.b32 %r20, [%r4];\n";
  const std::string body = "mov.u16 %h0, 15;\n" + read +
                           "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 256;\n";
  // Rank 0 knows that the others have read their tile only after an arrival of theirs.
  expect_report(kernel(body + "bar.sync 0;\n" + kMulticast + kWait), Verdict::kRace,
                "an asynchronous write of shared tile+");
  const std::string release = R"(
bar.sync 0;
mapa.shared::cluster.u32 %r10, %r3, 0;
@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];
@!%p1 bra RELEASED;
FREE:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r3], 0;
@!%p5 bra FREE;
bar.sync 0;
RELEASED:
)";
  expect_words(kernel(body + release + kMulticast + kWait), [](int, int i) { return 50000 + i; });
}

TEST(ClusterAsync, MulticastBeyondTheClusterIsReported) {
  expect_report(kernel("mov.u16 %h0, 17;\n" + kMulticast), Verdict::kFault,
                "shared memory of block 4 of a cluster of 4");
}

TEST(ClusterAsync, MBarrierOfAnotherBlockBeforeItsInitIsKnown) {
  // Block 0 happens to have run by then, but nothing says that it has.
  std::string text = kernel(R"(
mapa.shared::cluster.u32 %r10, %r1, 0;
setp.eq.u32 %p3, %rank, 3;
and.pred %p3, %p3, %p0;
@%p3 mbarrier.arrive.shared::cluster.b64 _, [%r10];
)");
  const std::string barrier = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
  text.replace(text.find(barrier), barrier.size(), "bar.sync 0;\n");
  expect_report(text, Verdict::kRace,
                "without a barrier after its init by thread (0,0,0) of block 0");
}

TEST(ClusterAsync, ArrivalsAndBytesFromOtherBlocks) {
  // Every block announces and sends 64 bytes to the next one.
  expect_words(
      kernel(R"(
add.u32 %r10, %rank, 1;
and.b32 %r10, %r10, 3;
mapa.shared::cluster.u32 %r11, %r1, %r10;
mapa.shared::cluster.u32 %r12, %r0, %r10;
@%p0 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r11], 64;
@%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r12], [%r2], 64, [%r11];
)" + kWait),
      [](int rank, int i) { return i < 16 ? 1000 * ((rank + 3) % 4) + i : 1000 * rank + i; });
}

TEST(ClusterAsync, CopyWhoseSourceChangesInFlightIsReported) {
  expect_report(kernel(R"(
mapa.shared::cluster.u32 %r11, %r1, 1;
mapa.shared::cluster.u32 %r12, %r0, 1;
@%p2 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r11], 256;
@%p2 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r12], [%r2], 256, [%r11];
@%p2 st.shared.b32 [%r2+16], %r1;
)"),
                Verdict::kRace, "may still read it");
}

TEST(ClusterAsync, CopyOfWhatNoProxyFenceCoveredIsReported) {
  expect_report(kernel(R"(
mapa.shared::cluster.u32 %r11, %r1, 1;
mapa.shared::cluster.u32 %r12, %r0, 1;
@%p2 st.shared.b32 [%r2+16], %r1;
@%p2 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r12], [%r2], 256, [%r11];
)"),
                Verdict::kRace, "missing fence.proxy.async");
}

TEST(ClusterAsync, MBarrierAndDestinationInDifferentBlocksAreReported) {
  expect_report(kernel(R"(
mapa.shared::cluster.u32 %r12, %r0, 1;
@%p2 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r12], [%r2], 256, [%r1];
)"),
                Verdict::kFault, "is in block 0 of the cluster, the destination in block 1");
}

TEST(ClusterAsync, StoresOfWordsAndVectors) {
  // Each block's first 16 threads store 16 bytes each into the block after it.
  const std::string text = kernel(R"(
add.u32 %r10, %rank, 1;
and.b32 %r10, %r10, 3;
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 256;
mapa.shared::cluster.u32 %r11, %r1, %r10;
mapa.shared::cluster.u32 %r12, %r0, %r10;
mad.lo.u32 %r12, %tid, 16, %r12;
add.u32 %r13, %r6, 100;
add.u32 %r14, %r6, 200;
cvt.u64.u32 %x4, %r6;
setp.lt.u32 %p3, %tid, 16;
@%p3 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r12], {%r6, %r13}, [%r11];
@%p3 st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%r12+8], %x4, [%r11];
)" + kWait);
  expect_words(text, [](int rank, int i) {
    const int value = 1000 * ((rank + 3) % 4) + i / 4;
    return i % 4 == 0 ? value : i % 4 == 1 ? value + 100 : i % 4 == 2 ? value : 0;
  });
}

TEST(ClusterAsync, StoreReadBeforeItsWaitIsReported) {
  expect_report(kernel(R"(
mapa.shared::cluster.u32 %r11, %r1, 1;
mapa.shared::cluster.u32 %r12, %r0, 1;
@%p2 st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r12], %r6, [%r11];
barrier.cluster.arrive;
barrier.cluster.wait;
)"),
                Verdict::kRace, "st.async used before its wait: read of shared tile+0");
}

TEST(ClusterAsync, AnotherBlocksReadBeforeTheWaitIsReported) {
  expect_report(kernel(R"(
mapa.shared::cluster.u32 %r11, %r1, 1;
mapa.shared::cluster.u32 %r12, %r0, 1;
@%p2 st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r12], %r6, [%r11];
@%p2 ld.shared::cluster.b32 %r13, [%r12];
)"),
                Verdict::kRace,
                "st.async used before its wait: read of shared tile+0 in block 1 of the cluster");
}

TEST(ClusterAsync, Reductions) {
  // All blocks add into block 1's tile: by red.async its first word (64 threads each), in bulk
  // words 16 to 31, and the largest of all ranks goes to word 40.
  const std::string text = kernel(R"(
mapa.shared::cluster.u32 %r11, %r1, 1;
mapa.shared::cluster.u32 %r12, %r0, 1;
setp.eq.u32 %p3, %rank, 1;
and.pred %p4, %p3, %p0;
@%p4 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 1296;
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r12], 1, [%r11];
@%p0 red.async.shared::cluster.mbarrier::complete_tx::bytes.max.s32 [%r12+160], %r6, [%r11];
@%p0 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 [%r12+64], [%r2], 64, [%r11];
@!%p3 bra DONE;
)" + kWait);
  expect_words(text, [](int rank, int i) {
    if (rank == 1 && i == 0) return 1000 + 256;
    if (rank == 1 && i == 40) return 3000;
    if (rank == 1 && i >= 16 && i < 32) return 1000 + i + 6000 + 4 * (i - 16);
    return 1000 * rank + i;
  });
}

TEST(ClusterAsync, WaitForWhatNobodySendsIsADeadlock) {
  expect_report(kernel(kWait), Verdict::kFault,
                "a wait at the mbarrier at shared bar+0 (made at line 0) for a phase that nobody "
                "completes (outstanding: 1 of 1 arrivals)");
}

}  // namespace
}  // namespace hone::emulator
