// Blocks of one cluster on global memory: what orders them, and what does not.
#include <fmt/format.h>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

constexpr std::uint32_t kClusters = 3;

/// Of two blocks of a thread the first does `writes`, the second `reads`, each with %x0 the
/// cluster's word of `data`, %x1 of `flag`; %r0 is a word of shared memory, %r1 the same of the
/// other block, %r2 and %r3 likewise an mbarrier of one arrival. The second stores %r9 to `out`.
std::string kernel(const std::string& writes, const std::string& reads) {
  return fmt::format(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 flag, .param .u64 out)
{{
.reg .pred %p<8>; .reg .b32 %r<32>, %rank; .reg .b64 %x<16>;
.shared .align 8 .b8 word[8];
.shared .align 8 .b64 bar;
ld.param.u64 %x0, [data]; ld.param.u64 %x1, [flag]; ld.param.u64 %x2, [out];
mov.u32 %rank, %cluster_ctarank; mov.u32 %r4, %clusterid.x;
mul.wide.u32 %x3, %r4, 128;
add.u64 %x0, %x0, %x3; add.u64 %x1, %x1, %x3; add.u64 %x2, %x2, %x3;
mov.u32 %r0, word; mov.u32 %r2, bar; xor.b32 %r5, %rank, 1;
mapa.shared::cluster.u32 %r1, %r0, %r5; mapa.shared::cluster.u32 %r3, %r2, %r5;
mov.u32 %r6, 0; st.shared.u32 [%r0], %r6;
mbarrier.init.shared.b64 [%r2], 1;
fence.mbarrier_init.release.cluster;
barrier.cluster.arrive; barrier.cluster.wait;
mov.u32 %r8, 41; mov.u32 %r7, 1;
setp.eq.u32 %p0, %rank, 0;
@!%p0 bra READS;
{}
bra END;
READS:
{}
add.u32 %r9, %r9, 1; st.global.u32 [%x2], %r9;
END:
barrier.cluster.arrive; barrier.cluster.wait;
ret;
}}
)",
                     writes, reads);
}

struct Ways {
  std::string name, writes, reads;
  bool right = true;
  int want = 42;
};
void PrintTo(const Ways& ways, std::ostream* out) { *out << ways.name; }

RunReport run(const Ways& ways, std::uint64_t seed, std::vector<int>* out = nullptr) {
  Launch l("k", {2 * kClusters, 1, 1}, {1, 1, 1});
  l.config().cluster = {2, 1, 1};
  l.in("data", std::vector<int>(32 * kClusters)).in("flag", std::vector<int>(32 * kClusters));
  l.in("out", std::vector<int>(32 * kClusters));
  RunOptions options;
  options.schedule_seed = seed;
  RunReport r = l.run(load(kernel(ways.writes, ways.reads)), options);
  if (out != nullptr) *out = l.read<int>("out", 32 * kClusters);
  return r;
}

const std::string kWrite = "st.global.u32 [%x0], %r8;\n";
const std::string kRead = "ld.global.u32 %r9, [%x0];\n";
const std::string kMeet = "barrier.cluster.arrive; barrier.cluster.wait;\n";
const std::string kRelaxed = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n";
std::string wait(const std::string& load) {
  return "WAIT: " + load + " setp.eq.u32 %p1, %r10, 0; @%p1 bra WAIT;\n";
}
const std::string kWaitVolatile = wait("ld.volatile.global.u32 %r10, [%x1];");
const std::string kWaitMBarrier =
    "TRY: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra TRY;\n";

class ClusterGlobal : public ::testing::TestWithParam<Ways> {};

TEST_P(ClusterGlobal, IsOrderedOrNot) {
  for (const std::uint64_t seed : {0, 1, 2, 3, 4, 5}) {
    std::vector<int> out;
    const RunReport r = run(GetParam(), seed, &out);
    if (!GetParam().right) {
      EXPECT_EQ(r.verdict, Verdict::kRace) << seed << " " << r.detail;
      continue;
    }
    ASSERT_EQ(r.verdict, Verdict::kOk) << seed << " " << r.detail;
    for (std::uint32_t c = 0; c < kClusters; ++c) EXPECT_EQ(out[32 * c], GetParam().want) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ClusterGlobal,
    ::testing::Values(Ways{"Barrier", kWrite + kMeet, kMeet + kRead},
                      Ways{"RelaxedBarrier", kWrite + kRelaxed, kRelaxed + kRead, false},
                      Ways{"RelaxedBarrierBehindAFence",
                           kWrite + "fence.acq_rel.cluster;\n" + kRelaxed, kRelaxed + kRead},
                      Ways{"Nothing", kWrite, kRead, false},
                      Ways{"WriteAfterTheRead", kMeet + kWrite, kRead + kMeet, true, 1},
                      Ways{"WriteBesideTheRead", kWrite, kRead + kMeet, false}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Flags, ClusterGlobal,
    ::testing::Values(
        Ways{"VolatileWithoutAFence", kWrite + "st.volatile.global.u32 [%x1], %r7;\n",
             kWaitVolatile + kRead, false},
        Ways{"AllVolatileWithoutAFence",
             "st.volatile.global.u32 [%x0], %r8;\nst.volatile.global.u32 [%x1], %r7;\n",
             kWaitVolatile + kRead, false},
        Ways{"VolatileWithAFence", kWrite + "membar.gl;\nst.volatile.global.u32 [%x1], %r7;\n",
             kWaitVolatile + kRead},
        Ways{"VolatileWithAFenceOfTheCluster",
             kWrite + "fence.acq_rel.cluster;\nst.volatile.global.u32 [%x1], %r7;\n",
             kWaitVolatile + kRead},
        Ways{"FenceTooEarly",
             "fence.acq_rel.cluster;\n" + kWrite + "st.volatile.global.u32 [%x1], %r7;\n",
             kWaitVolatile + kRead, false},
        Ways{"ReleaseAndAcquire", kWrite + "st.release.cluster.global.u32 [%x1], %r7;\n",
             wait("ld.acquire.cluster.global.u32 %r10, [%x1];") + kRead},
        Ways{"RelaxedAndAcquire", kWrite + "st.relaxed.cluster.global.u32 [%x1], %r7;\n",
             wait("ld.acquire.cluster.global.u32 %r10, [%x1];") + kRead, false},
        Ways{"AtomicRelease", kWrite + "red.release.cluster.global.add.u32 [%x1], %r7;\n",
             wait("ld.acquire.cluster.global.u32 %r10, [%x1];") + kRead}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    SharedFlags, ClusterGlobal,
    ::testing::Values(
        Ways{"Release", kWrite + "st.release.cluster.shared::cluster.u32 [%r1], %r7;\n",
             wait("ld.acquire.cluster.shared::cta.u32 %r10, [%r0];") + kRead},
        Ways{"Relaxed", kWrite + "st.relaxed.cluster.shared::cluster.u32 [%r1], %r7;\n",
             wait("ld.acquire.cluster.shared::cta.u32 %r10, [%r0];") + kRead, false},
        Ways{"MBarrier", kWrite + "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\n",
             kWaitMBarrier + kRead}),
    [](const auto& info) { return info.param.name; });

/// Volatile stores of a cluster's blocks, too, are seen late and in any order where nothing forbids
/// it.
TEST(ClusterGlobal, StoresAreLateInSomeSchedules) {
  const Ways ways{"Late",
                  "st.volatile.global.u32 [%x0], %r8;\nst.volatile.global.u32 [%x1], %r7;\n",
                  kWaitVolatile + "ld.volatile.global.u32 %r9, [%x0];\n"};
  bool late = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int> out;
    const RunReport r = run(ways, seed, &out);
    ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
    if (seed == 0) EXPECT_EQ(out[0], 42);
    late = late || out[0] == 1;
  }
  EXPECT_TRUE(late);
}

}  // namespace
}  // namespace hone::emulator
