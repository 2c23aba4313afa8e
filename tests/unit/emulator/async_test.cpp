// cp.async, mbarriers and what CUDA C++ builds of them: right answers here, wrong use in the corpus
// (data/checkers/async_*.cu).
#include <numeric>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

void expect_ok(const RunReport& r) {
  EXPECT_EQ(r.verdict, Verdict::kOk) << to_string(r.verdict) << ": " << r.detail;
}

std::vector<int> counting(std::size_t n) {
  std::vector<int> v(n);
  std::iota(v.begin(), v.end(), 1);
  return v;
}

class AsyncKernels : public testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<const Module> module() { return kernels(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Arch, AsyncKernels, testing::Values("async_sm_80.ptx", "async_sm_90.ptx"),
                         [](const auto& i) { return std::string(i.param).substr(6, 5); });

std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, int n,
                           int pitch) {
  std::vector<float> c(static_cast<std::size_t>(n) * pitch);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k) c[i * pitch + j] += a[i * pitch + k] * b[k * pitch + j];
  return c;
}

TEST_P(AsyncKernels, DoubleBufferedMatmul) {
  const int n = 48;
  const auto a = ramp(n * n);
  const auto b = ramp(n * n, 0.02f);
  Launch l("matmul_pipeline", {3, 3, 1}, {16, 16, 1});
  l.in("A", a).in("B", b).out("C", n * n * 4).value(n);
  const RunReport r = l.run(module());
  expect_ok(r);
  const auto want = product(a, b, n, n);
  const auto got = l.read<float>("C", n * n);
  for (int i = 0; i < n * n; ++i) EXPECT_NEAR(got[i], want[i], 1e-4) << i;
  // Each of 9 blocks copies 3 tiles of 16 x 16 floats twice, in warps of 2 rows of 64 bytes.
  EXPECT_EQ(r.counters.global_loads, 9 * 3 * 2 * 8);
  EXPECT_EQ(r.counters.global_load_sectors, 9 * 3 * 2 * 8 * 4);
}

TEST_P(AsyncKernels, MatmulWithZeroFill) {
  for (const int n : {16, 37, 50}) {
    const int pitch = (n + 3) / 4 * 4;
    const auto a = ramp(n * pitch);
    const auto b = ramp(n * pitch, 0.02f);
    const auto blocks = static_cast<std::uint32_t>((n + 15) / 16);
    Launch l("matmul_cp_async", {blocks, blocks, 1}, {256, 1, 1});
    l.in("A", a).in("B", b).out("C", n * pitch * 4).value(n).value(pitch);
    expect_ok(l.run(module()));
    const auto want = product(a, b, n, pitch);
    const auto got = l.read<float>("C", n * pitch);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        EXPECT_NEAR(got[i * pitch + j], want[i * pitch + j], 1e-4) << n << ": " << i << "," << j;
  }
}

TEST_P(AsyncKernels, ProducerAndConsumers) {
  const int n = 1024;
  const auto in = ramp(n);
  Launch l("producer_consumer", {1, 1, 1}, {96, 1, 1});
  l.in("in", in).out("out", 64 * 4).value(n);
  expect_ok(l.run(module()));
  const auto got = l.read<float>("out", 64);
  for (int t = 0; t < 64; ++t) {
    float want = 0;
    for (int i = 0; i < n / 128; ++i) want += in[i * 128 + t] + in[i * 128 + t + 64];
    EXPECT_NEAR(got[t], want, 1e-5) << t;
  }
}

TEST_P(AsyncKernels, GroupCopy) {
  Launch l("group_memcpy", {2, 1, 1}, {256, 1, 1});
  l.in("in", counting(512)).out("out", 512 * 4).shared(1024);
  expect_ok(l.run(module()));
  const auto got = l.read<int>("out", 512);
  for (int i = 0; i < 512; ++i) EXPECT_EQ(got[i], i / 256 * 256 + 256 - i % 256);
}

TEST_P(AsyncKernels, PipelineOfTheBlock) {
  const int n = 5;
  Launch l("shared_pipeline", {1, 1, 1}, {128, 1, 1});
  l.in("in", counting(n * 128)).out("out", 128 * 4).value(n);
  expect_ok(l.run(module()));
  const auto got = l.read<int>("out", 128);
  for (int t = 0; t < 128; ++t) EXPECT_EQ(got[t], 5 * (128 - t) + 128 * 10);
}

TEST_P(AsyncKernels, CopyCompletesABarrier) {
  Launch l("barrier_memcpy", {1, 1, 1}, {256, 1, 1});
  l.in("in", counting(256)).out("out", 256 * 4);
  expect_ok(l.run(module()));
  const auto got = l.read<int>("out", 256);
  for (int t = 0; t < 256; ++t) EXPECT_EQ(got[t], 256 - t);
}

}  // namespace
}  // namespace hone::emulator
