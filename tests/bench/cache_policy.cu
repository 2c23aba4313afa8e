// Copies, and RMS norms of rows of 4096, with loads that leave the L2 cache last and without: what
// generate-*'s `cache=keep-loads` is worth on a GPU. Inputs take turns, so that nothing of a run is
// found by the next.
//   nvcc -O3 -std=c++17 -arch=native tests/bench/cache_policy.cu -o cache_policy && ./cache_policy
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                           \
  do {                                                                                        \
    if (const cudaError_t error = (call); error != cudaSuccess) {                             \
      std::fprintf(stderr, "%s: %s (line %d)\n", #call, cudaGetErrorString(error), __LINE__); \
      std::exit(1);                                                                           \
    }                                                                                         \
  } while (false)

constexpr int kCols = 4096, kRows = 65536, kSamples = 21;
constexpr size_t kVectors = size_t{kRows} * kCols / 4, kFlushBytes = size_t{120} << 20;

template <bool kKept>
__device__ float4 load(const float4* from) {
  if constexpr (!kKept) return *from;
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  float4 v;
  asm volatile("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(from), "l"(policy));
  return v;
}

template <bool kKept>
__global__ void copy(const float4* __restrict__ x, float4* __restrict__ y) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  y[i] = load<kKept>(x + i);
}

template <bool kKept, int kThreads>
__global__ void __launch_bounds__(kThreads)
    rms_norm(const float4* __restrict__ x, const float4* __restrict__ gain,
             float4* __restrict__ y) {
  constexpr int kItems = kCols / 4 / kThreads;
  const float4* const row = x + blockIdx.x * size_t{kCols / 4};
  float4 v[kItems];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i) v[i] = load<kKept>(row + i * kThreads + threadIdx.x);
#pragma unroll
  for (int i = 0; i < kItems; ++i)
    sum += v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z + v[i].w * v[i].w;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  __shared__ float sums[kThreads / 32];
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
#pragma unroll
  for (int i = 0; i < kThreads / 32; ++i) sum += sums[i];
  const float scale = rsqrtf(sum / kCols + 1e-5f);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const float4 g = gain[i * kThreads + threadIdx.x];
    y[blockIdx.x * size_t{kCols / 4} + i * kThreads + threadIdx.x] = make_float4(
        v[i].x * scale * g.x, v[i].y * scale * g.y, v[i].z * scale * g.z, v[i].w * scale * g.w);
  }
}

float4 *inputs[3], *output, *gain;
char* flushed;

/// Median over samples, each with a flushed L2 and another input. [us]
template <class Launch>
double time_us(Launch launch) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> samples;
  for (int i = -1; i < kSamples; ++i) {
    CHECK(cudaCtxResetPersistingL2Cache());
    CHECK(cudaMemsetAsync(flushed, 0, kFlushBytes));
    CHECK(cudaEventRecord(begin));
    launch(inputs[(i + 3) % 3]);
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 0) samples.push_back(1000 * ms);
  }
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

void show(const char* what, double plain_us, double kept_us) {
  const double bytes = 2.0 * 16 * kVectors;
  std::printf("%-22s %7.1f us, %.2f TB/s; loads kept: %7.1f us, %.2f TB/s\n", what, plain_us,
              bytes / plain_us * 1e-6, kept_us, bytes / kept_us * 1e-6);
}

int main() {
  for (float4*& input : inputs) {
    CHECK(cudaMalloc(&input, 16 * kVectors));
    CHECK(cudaMemset(input, 1, 16 * kVectors));
  }
  CHECK(cudaMalloc(&output, 16 * kVectors));
  CHECK(cudaMalloc(&gain, 4 * kCols));
  CHECK(cudaMalloc(&flushed, kFlushBytes));
  show("copy", time_us([](const float4* x) { copy<false><<<kVectors / 256, 256>>>(x, output); }),
       time_us([](const float4* x) { copy<true><<<kVectors / 256, 256>>>(x, output); }));
  const auto norm = [](auto kernel, int threads) {
    return time_us([=](const float4* x) { kernel<<<kRows, threads>>>(x, gain, output); });
  };
  show("rms_norm, 256 threads", norm(rms_norm<false, 256>, 256), norm(rms_norm<true, 256>, 256));
  show("rms_norm, 512 threads", norm(rms_norm<false, 512>, 512), norm(rms_norm<true, 512>, 512));
}
