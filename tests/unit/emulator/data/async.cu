// Asynchronous copies and mbarriers as CUDA C++ writes them. Compiled for sm_80 and sm_90.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>

#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

// Double-buffered through a thread's own cuda::pipeline.
extern "C" __global__ void matmul_pipeline(const float* A, const float* B, float* C, int n) {
  __shared__ float a[2][16][16], b[2][16][16];
  auto pipe = cuda::make_pipeline();
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  const auto load = [&](int stage, int k) {
    pipe.producer_acquire();
    cuda::memcpy_async(&a[stage][ty][tx], &A[row * n + k * 16 + tx], sizeof(float), pipe);
    cuda::memcpy_async(&b[stage][ty][tx], &B[(k * 16 + ty) * n + column], sizeof(float), pipe);
    pipe.producer_commit();
  };
  float sum = 0;
  const int tiles = n / 16;
  load(0, 0);
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) {
      load((t + 1) & 1, t + 1);
    } else {
      pipe.producer_acquire();
      pipe.producer_commit();
    }
    cuda::pipeline_consumer_wait_prior<1>(pipe);
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += a[t & 1][ty][k] * b[t & 1][k][tx];
    __syncthreads();
    pipe.consumer_release();
  }
  C[row * n + column] = sum;
}

// 16 bytes a thread, three stages, zero fill beyond the edge. Any n: rows are padded to a multiple of four.
extern "C" __global__ void matmul_cp_async(const float* A, const float* B, float* C, int n, int pitch) {
  __shared__ __align__(16) float a[3][16][16], b[3][16][16];
  const int t = threadIdx.x, tx = t % 16, ty = t / 16;
  const auto load = [&](int stage, int k) {
    if (t < 128) {
      const int i = t % 64 / 4, j = t % 4 * 4;
      const bool first = t < 64;
      const int row = (first ? blockIdx.y * 16 : k * 16) + i;
      const int column = (first ? k * 16 : blockIdx.x * 16) + j;
      const int zero = row >= n || column >= pitch ? 16 : column + 4 > n ? (column + 4 - n) * 4 : 0;
      const float* from = (first ? A : B) + (zero >= 16 ? 0 : row * pitch + column);
      __pipeline_memcpy_async(first ? &a[stage][i][j] : &b[stage][i][j], from, 16, zero > 16 ? 16 : zero);
    }
    __pipeline_commit();
  };
  const int tiles = (n + 15) / 16;
  load(0, 0);
  if (tiles > 1) load(1, 1);
  else __pipeline_commit();
  float sum = 0;
  for (int k = 0; k < tiles; ++k) {
    __pipeline_wait_prior(1);
    __syncthreads();
    if (k + 2 < tiles) load((k + 2) % 3, k + 2);
    else __pipeline_commit();
    for (int i = 0; i < 16; ++i) sum += a[k % 3][ty][i] * b[k % 3][i][tx];
  }
  const int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  if (row < n && column < n) C[row * pitch + column] = sum;
}

// The producer and consumer warps of the CUDA programming guide.
extern "C" __global__ void producer_consumer(const float* in, float* out, int n) {
  __shared__ cuda::barrier<cuda::thread_scope_block> ready[2], filled[2];
  __shared__ float buffer[2][128];
  auto block = cg::this_thread_block();
  if (block.thread_rank() < 4) {
    const int r = block.thread_rank();
    init(r < 2 ? &ready[r] : &filled[r - 2], block.size());
  }
  block.sync();
  if (block.thread_rank() < 32) {
    for (int i = 0; i < n / 128; ++i) {
      ready[i % 2].arrive_and_wait();
      for (int k = block.thread_rank(); k < 128; k += 32) buffer[i % 2][k] = in[i * 128 + k];
      (void)filled[i % 2].arrive();
    }
  } else {
    (void)ready[0].arrive();
    (void)ready[1].arrive();
    float sum = 0;
    for (int i = 0; i < n / 128; ++i) {
      filled[i % 2].arrive_and_wait();
      for (int k = block.thread_rank() - 32; k < 128; k += block.size() - 32) sum += buffer[i % 2][k];
      (void)ready[i % 2].arrive();
    }
    out[threadIdx.x - 32] = sum;
  }
}

extern "C" __global__ void group_memcpy(const int* in, int* out) {
  extern __shared__ int s[];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, in + blockIdx.x * 256, 256 * sizeof(int));
  cg::wait(block);
  out[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];
}

// A pipeline of the whole block: stages are handed over through mbarriers.
extern "C" __global__ void shared_pipeline(const int* in, int* out, int n) {
  __shared__ alignas(16) int buffer[2][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int i = 0, fetched = 0; i < n; ++i) {
    for (; fetched < n && fetched < i + 2; ++fetched) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, buffer[fetched % 2], in + fetched * 128, cuda::aligned_size_t<16>(512), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += buffer[i % 2][127 - threadIdx.x];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

// sm_80: cp.async and cp.async.mbarrier.arrive; sm_90: one bulk copy.
extern "C" __global__ void barrier_memcpy(const int* in, int* out) {
  __shared__ alignas(16) int buffer[256];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(block, buffer, in, cuda::aligned_size_t<16>(1024), barrier);
  barrier.arrive_and_wait();
  out[threadIdx.x] = buffer[255 - threadIdx.x];
}
