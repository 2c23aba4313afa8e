// The counters, and that the model ranks what everyone knows the order of.
#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

const Profile& h200() { return *find_profile("sm_90"); }

Launch matmul(const char* name, int n) {
  const auto side = static_cast<std::uint32_t>(n / 16);
  Launch l(name, {side, side, 1}, {16, 16, 1});
  l.in("A", ramp(static_cast<std::size_t>(n) * n)).in("B", ramp(static_cast<std::size_t>(n) * n));
  l.out("C", static_cast<std::size_t>(n) * n * 4).value(n).value(n).value(n);
  return l;
}

double time_of(Launch& l, int static_shared = 0, const RunOptions& options = {}) {
  const RunReport r = l.run(kernels(), options);
  EXPECT_EQ(r.verdict, Verdict::kOk) << r.detail;
  return model(h200(), r.counters, l.config(), 32, static_shared).time_us;
}

TEST(Profiles, AllAreComplete) {
  for (const std::string& arch : profile_archs()) {
    const Profile* p = find_profile(arch);
    ASSERT_NE(p, nullptr);
    EXPECT_GT(p->sm_count, 0) << arch;
    EXPECT_GT(p->clock_hz, 1e9) << arch;
    EXPECT_GT(p->dram_bytes_per_s, 1e11) << arch;
    EXPECT_GT(p->dram_latency, p->l2_latency) << arch;
    EXPECT_GT(p->l2_latency, p->l1_latency) << arch;
    EXPECT_GE(p->shared_per_sm, p->shared_per_block) << arch;
    EXPECT_GT(p->atomic_same_address_per_s, 0) << arch;
    EXPECT_GT(p->launch_us, 0) << arch;
  }
  EXPECT_EQ(find_profile("sm_90a"), find_profile("sm_90"));
  EXPECT_EQ(find_profile("sm_12"), nullptr);
}

TEST(Occupancy, IsLimitedByEachResource) {
  EXPECT_EQ(occupancy(h200(), 256, 32, 0).blocks_per_sm, 8);
  EXPECT_DOUBLE_EQ(occupancy(h200(), 256, 32, 0).fraction, 1.0);
  EXPECT_EQ(occupancy(h200(), 256, 64, 0).blocks_per_sm, 4);
  EXPECT_EQ(occupancy(h200(), 256, 255, 0).blocks_per_sm, 1);
  EXPECT_EQ(occupancy(h200(), 32, 32, 0).blocks_per_sm, 32);
  EXPECT_EQ(occupancy(h200(), 128, 32, 100 * 1024).blocks_per_sm, 2);
  EXPECT_EQ(occupancy(h200(), 1024, 128, 0).blocks_per_sm, 0);
}

TEST(Counters, CoalescedAndStrided) {
  const int n = 128;
  for (const char* name : {"copy_rows", "transpose_naive"}) {
    Launch l(name, {4, 16, 1}, {32, 8, 1});
    l.in("in", ramp(n * n)).out("out", n * n * 4).value(n);
    const RunReport r = l.run(kernels());
    ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
    const Counters& c = r.counters;
    EXPECT_EQ(c.global_loads, 512u);
    EXPECT_EQ(c.global_load_sectors, 512u * 4);
    EXPECT_EQ(c.global_stores, 512u);
    EXPECT_EQ(c.global_store_sectors, std::string(name) == "copy_rows" ? 512u * 4 : 512u * 32);
    EXPECT_EQ(c.thread_instructions, 32 * c.warp_instructions);
    EXPECT_EQ(c.divergent_branches, 0u);
    EXPECT_EQ(c.l2_miss_sectors, 2u * n * n * 4 / 32);
  }
}

TEST(Counters, BankConflicts) {
  const auto wavefronts = [](int stride) {
    Launch l("bank_conflicts", {1, 1, 1}, {32, 1, 1});
    l.shared(32 * 33 * 4).out("out", 128).value(stride);
    const RunReport r = l.run(kernels());
    EXPECT_EQ(r.verdict, Verdict::kOk) << r.detail;
    EXPECT_EQ(r.counters.shared_stores, 33u);
    EXPECT_EQ(r.counters.shared_loads, 1u);
    return r.counters.shared_wavefronts - 33;
  };
  EXPECT_EQ(wavefronts(0), 1u);
  EXPECT_EQ(wavefronts(1), 1u);
  EXPECT_EQ(wavefronts(2), 2u);
  EXPECT_EQ(wavefronts(8), 8u);
  EXPECT_EQ(wavefronts(32), 32u);
  EXPECT_EQ(wavefronts(33), 1u);
}

TEST(Counters, FlopsOfAMatmul) {
  Launch l = matmul("matmul_naive", 64);
  const RunReport r = l.run(kernels());
  EXPECT_EQ(r.counters.flops, 2u * 64 * 64 * 64);
}

TEST(Counters, AreTheSameEveryTime) {
  Launch one = matmul("matmul_tiled", 64);
  Launch two = matmul("matmul_tiled", 64);
  const Counters a = one.run(kernels()).counters, b = two.run(kernels()).counters;
  EXPECT_EQ(std::memcmp(&a, &b, sizeof a), 0);
}

TEST(Counters, SamplingScales) {
  Launch all = matmul("matmul_naive", 256);
  Launch some = matmul("matmul_naive", 256);
  RunOptions options;
  options.sample_blocks = 16;
  const Counters a = all.run(kernels()).counters;
  const Counters b = some.run(kernels(), options).counters;
  EXPECT_EQ(b.blocks, 16u);
  EXPECT_EQ(b.blocks_total, 256u);
  EXPECT_EQ(a.warp_instructions, b.warp_instructions * 16);
  EXPECT_EQ(a.global_load_sectors, b.global_load_sectors * 16);
  // The footprint is known to be 3 matrices; the estimate from a sixteenth may be off by half.
  EXPECT_NEAR(static_cast<double>(b.l2_miss_sectors * 16), 3.0 * 256 * 256 * 4 / 32,
              1.5 * 256 * 256 * 4 / 32);
}

TEST(Model, TilingHelpsMatmul) {
  RunOptions options;
  options.sample_blocks = 8;
  Launch naive = matmul("matmul_naive", 1024), tiled = matmul("matmul_tiled", 1024);
  EXPECT_GT(time_of(naive, 0, options), 1.15 * time_of(tiled, 2048, options));
}

TEST(Model, CoalescingHelps) {
  const int n = 4096;
  RunOptions options;
  options.sample_blocks = 32;
  const auto time = [&](const char* name) {
    Launch l(name, {n / 32, n / 8, 1}, {32, 8, 1});
    l.value(l.memory().allocate("in", std::uint64_t{n} * n * 4, true, nullptr));
    l.value(l.memory().allocate("out", std::uint64_t{n} * n * 4, false, nullptr)).value(n);
    return time_of(l, 0, options);
  };
  const double copy = time("copy_rows");
  EXPECT_GT(time("transpose_naive"), 1.5 * copy);
  // 128 MiB at 4.3 TB/s is 31 us.
  EXPECT_GT(copy, 25);
  EXPECT_LT(copy, 60);
}

TEST(Model, AggregatedAtomicsHelp) {
  const int n = 1 << 22;
  RunOptions options;
  options.sample_blocks = 16;
  const auto time = [&](const char* name, std::uint32_t blocks, std::uint32_t shared) {
    Launch l(name, {blocks, 1, 1}, {256, 1, 1});
    l.shared(shared);
    l.value(l.memory().allocate("x", std::uint64_t{n} * 4, true, nullptr));
    l.in("out", std::vector<float>{0.f}).value(n);
    return time_of(l, 0, options);
  };
  const double each = time("sum_atomics", n / 256, 0);
  const double tree = time("reduce_shared", n / 256, 1024);
  const double warps = time("reduce_warp", 1056, 0);
  EXPECT_GT(each, 5 * tree);
  EXPECT_GT(tree, warps);
}

TEST(Model, MoreBlocksUseMoreOfTheDevice) {
  const int n = 1 << 22;
  const auto time = [&](std::uint32_t blocks) {
    RunOptions options;
    options.sample_blocks = 4;
    Launch l("reduce_warp", {blocks, 1, 1}, {256, 1, 1});
    l.value(l.memory().allocate("x", std::uint64_t{n} * 4, true, nullptr));
    l.in("out", std::vector<float>{0.f}).value(n);
    return time_of(l, 0, options);
  };
  EXPECT_GT(time(8), 5 * time(528));
}

}  // namespace
}  // namespace hone::emulator
