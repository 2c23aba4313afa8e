// Clusters in CUDA C++: another block's shared memory through cooperative groups and cuda::ptx.
// `way`: 0 as it should be. sm_90a.
#include <cooperative_groups.h>

#include <cuda/ptx>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using Barrier = std::uint64_t;

__device__ void wait(Barrier* b, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, b, parity)) {
  }
}

// Counts the values of `in` below 256, 64 of them in each of four blocks.
extern "C" __global__ void __cluster_dims__(4) histogram(int* bins, const int* in, int n) {
  __shared__ int mine[64];
  const auto cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) mine[i] = 0;
  cluster.sync();
  for (int i = cluster.thread_rank(); i < n; i += cluster.num_threads()) {
    const int v = in[i] & 255;
    atomicAdd(cluster.map_shared_rank(mine, v / 64) + v % 64, 1);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) bins[cluster.block_rank() * 64 + i] = mine[i];
}

// Each step, every thread stores its value into the next block, and goes on with one of those that
// arrive here. 1: a slot is filled again before the next block says that it has read it.
extern "C" __global__ void __cluster_dims__(4) ring(int* out, const int* in, int steps, int way) {
  __shared__ alignas(16) int slots[2][128];
  __shared__ Barrier full[2], empty[2];
  const auto cluster = cg::this_cluster();
  const int t = threadIdx.x;
  const unsigned next = (cluster.block_rank() + 1) % 4;
  const unsigned previous = (cluster.block_rank() + 3) % 4;
  if (t == 0) {
    for (int i = 0; i < 2; ++i) {
      ptx::mbarrier_init(&full[i], 1);
      ptx::mbarrier_init(&empty[i], 128);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  cluster.sync();
  int value = in[blockIdx.x * 128 + t];
  int sum = 0;
  for (int k = 0; k < steps; ++k) {
    const int s = k & 1;
    const unsigned phase = k >> 1 & 1;
    if (t == 0)
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s],
                                     512);
    if (k >= 2 && way != 1) wait(&empty[s], phase ^ 1);
    ptx::st_async(cluster.map_shared_rank(&slots[s][t], next), value,
                  cluster.map_shared_rank(&full[s], next));
    wait(&full[s], phase);
    value = slots[s][127 - t];
    sum += value;
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster,
                         cluster.map_shared_rank(&empty[s], previous));
  }
  out[blockIdx.x * 128 + t] = sum;
  cluster.sync();
}

// A stencil whose edges are exchanged by bulk copies between shared memories. 1: no proxy fence
// before the copies; 2: nobody waits for the neighbours' edges.
extern "C" __global__ void __cluster_dims__(4) halo(float* out, const float* in, int steps, int way) {
  __shared__ alignas(128) float rows[2][136];
  __shared__ Barrier bar[2];
  const auto cluster = cg::this_cluster();
  const int t = threadIdx.x;
  const unsigned rank = cluster.block_rank();
  if (t == 0) {
    ptx::mbarrier_init(&bar[0], 1);
    ptx::mbarrier_init(&bar[1], 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  for (int i = t; i < 136; i += 128) rows[0][i] = rows[1][i] = 0;
  __syncthreads();
  rows[0][4 + t] = in[blockIdx.x * 128 + t];
  if (way != 1) ptx::fence_proxy_async();
  cluster.sync();
  for (int k = 0; k < steps; ++k) {
    float* const row = rows[k & 1];
    Barrier* const b = &bar[k & 1];
    if (t == 0) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, b,
                                     (rank > 0 ? 16 : 0) + (rank < 3 ? 16 : 0));
      if (rank < 3)
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared,
                           cluster.map_shared_rank(row, rank + 1), row + 128, 16,
                           cluster.map_shared_rank(b, rank + 1));
      if (rank > 0)
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared,
                           cluster.map_shared_rank(row + 132, rank - 1), row + 4, 16,
                           cluster.map_shared_rank(b, rank - 1));
    }
    if (way != 2) wait(b, k >> 1 & 1);
    rows[(k & 1) ^ 1][4 + t] = 0.25f * row[3 + t] + 0.5f * row[4 + t] + 0.25f * row[5 + t];
    if (way != 1) ptx::fence_proxy_async();
    cluster.sync();
  }
  out[blockIdx.x * 128 + t] = rows[steps & 1][4 + t];
}
