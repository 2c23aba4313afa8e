// What is counted in a kernel's text.
#include "engine/search/ranking/kernel_profile.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "engine/search/ranking/features.h"

namespace hone::ranking {
namespace {

ConcreteProgram program_of(std::string source, std::int64_t block, std::int64_t n) {
  ConcreteProgram program;
  program.source = std::move(source);
  program.buffers = {{"x", ScalarType::kF32, {n}, Role::kIn, {}},
                     {"y", ScalarType::kF32, {n}, Role::kOut, {}}};
  ConcreteLaunch launch;
  launch.kernel = "work";
  launch.grid = {64, 1, 1};
  launch.block = {block, 1, 1};
  launch.args = {BufferIndex{0}, BufferIndex{1}, n};
  program.launches = {launch};
  return program;
}

KernelProfile profile_of(const std::string& source, std::int64_t block = 128,
                         std::int64_t n = 4096) {
  const ConcreteProgram program = program_of(source, block, n);
  return SourceReader(program).profile(program.launches[0]);
}

TEST(KernelProfile, LoopsCountAsOftenAsTheyRun) {
  const KernelProfile found = profile_of(R"(
__global__ void work(const float* x, float* y, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    sum += x[i];
  }
  y[blockIdx.x] = expf(sum);
}
)");
  EXPECT_EQ(found.global_accesses, 32 + 1);
  EXPECT_EQ(found.global_bytes, 4 * 33);
  EXPECT_EQ(found.loop_rounds, 32);
  EXPECT_EQ(found.special, 1);
  EXPECT_EQ(found.deepest, 1);
  EXPECT_EQ(found.unknown_loops, 0);
}

TEST(KernelProfile, TilesVectorsAndBarriers) {
  const KernelProfile found = profile_of(R"(
__global__ void __launch_bounds__(128, 3) work(const float* x, float* y, int n) {
  constexpr int kTile = 4 * 32, kPerThread = 8;
  __shared__ float tile[2][kTile];
  float own[kPerThread];
  for (int k = 0; k < 1024; k += kTile) {
    *reinterpret_cast<float4*>(&tile[0][4 * threadIdx.x]) =
        *reinterpret_cast<const float4*>(&x[k + 4 * threadIdx.x]);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) own[j] = fmaf(tile[0][j], 2.0f, own[j]);
    if (k == 0) __syncthreads();
  }
}
)");
  EXPECT_EQ(found.global_accesses, 8);
  EXPECT_EQ(found.widest_global, 16);
  EXPECT_EQ(found.shared_accesses, 8 + 8 * 8);
  EXPECT_EQ(found.static_shared, 2 * 128 * 4);
  EXPECT_EQ(found.local_bytes, 8 * 4);
  EXPECT_EQ(found.unrolled, 8);
  EXPECT_EQ(found.barriers, 8 + 1);  // the second in one of eight rounds
  EXPECT_EQ(found.min_blocks, 3);
}

TEST(KernelProfile, LooksIntoTemplatesLambdasAndAssembly) {
  const KernelProfile found = profile_of(R"(
template <typename T, int kN>
struct Pack { T at[kN]; };
template <int kBytes>
__device__ void copy(void* to, const void* from) {
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(kBytes));
  }
}
template <typename T, int kN>
__device__ void store(T* to, const Pack<T, kN>& pack) { *reinterpret_cast<Pack<T, kN>*>(to) = pack; }
__global__ void work(const float* x, float* y, int n) {
  const auto fill = [&](int stage) {
    for (int i = 0; i < 2; ++i) copy<8>(nullptr, x + i);
  };
  Pack<float, 4> sums;
  for (int k = 0; k < 10; ++k) {
    fill(k);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0}, {%1};" ::"r"(k));
  }
  store(y, sums);
}
)");
  EXPECT_EQ(found.async_copies, 20);
  EXPECT_EQ(found.async_bytes, 160);
  EXPECT_EQ(found.tensor, 10 * 2 * 16 * 8 * 8 / 32);
  EXPECT_EQ(found.global_accesses, 1);
  EXPECT_EQ(found.global_bytes, 16);
}

TEST(KernelProfile, AnotherNameOfEverythingIsTheSame) {
  const std::string one = R"(
__global__ void work(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] * 2.0f;
}
)";
  const std::string other = R"(
__global__ void work(const float* from, float* result, int count) {
  for (int element = 0; element < count; ++element) result[element] = from[element] * 2.0f;
}
)";
  const Features a = features_of(program_of(one, 64, 100), {});
  const Features b = features_of(program_of(other, 64, 100), {});
  ASSERT_EQ(a.size(), feature_names().size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    EXPECT_EQ(a[i], b[i]) << feature_names()[i];
  }
}

TEST(KernelProfile, HostileTextsEndSoon) {
  std::string calls = "__global__ void work(const float* x, float* y, int n) {", deep = calls;
  for (int i = 0; i < 200'000; ++i) calls += "a = b = x[";
  std::string doubling = "__device__ void f0() {}\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "f" + std::to_string(i - 1) + "();";
    doubling +=
        "__device__ void f" + std::to_string(i) + "() { " + before + before + before + "}\n";
  }
  doubling += "__global__ void work(const float* x, float* y, int n) { f39(); }";
  for (int i = 0; i < 100'000; ++i) deep += "for (;;) {";
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& source :
       {calls, doubling, deep, std::string("__global__ void work("), std::string("\"\\"),
        std::string("__global__ void work(int n) { if (n) for (int i = 0; ) asm("),
        std::string("template <"), std::string("__launch_bounds__(")})
    (void)profile_of(source);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

}  // namespace
}  // namespace hone::ranking
