// A product as Hopper's fast ones are made: clusters of two blocks, a warp that loads through tensor
// maps and multicasts, a warpgroup that multiplies, two stages. sm_90a.
#include <cuda_fp16.h>

#include "bulk.cuh"

__device__ inline unsigned rank() {
  unsigned r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ inline void arrive_at(u64* b, unsigned block) {
  asm volatile(
      "{ .reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there]; }" ::"r"(offset(b)), "r"(block) : "memory");
}
__device__ inline void wait_cluster(u64* b, unsigned parity) {
  asm volatile(
      "{ .reg .pred p;\n"
      "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra again; }" ::"r"(offset(b)), "r"(parity) : "memory");
}
__device__ inline void tile_multicast(void* to, const TensorMap* map, int x, int y, u64* b, unsigned short blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, "
      "%3}], [%4], %5;" ::"r"(offset(to)), "l"(map), "r"(x), "r"(y), "r"(offset(b)), "h"(blocks) : "memory");
}
__device__ inline u64 descriptor(unsigned address) {
  return (u64)(address >> 4 & 0x3FFF) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

// D (64 rows a block, 64 columns) = A (rows of k) B (64 rows of k). `way`: 0 as it should be; 1 the
// stage is given back to the block's own producer only; 2 it is given back before the products are
// waited for; 3 nobody waits for the copies; 4 no cluster barrier after the mbarriers' init; 5 a
// block does not wait for the other at its end; 6 right too: a thread gives the stage back for its
// whole warpgroup, whose products end together, without a barrier of theirs; 7 as 2 and 6.
extern "C" __global__ __cluster_dims__(2) void multicast_matmul(const __grid_constant__ TensorMap A,
                                                                const __grid_constant__ TensorMap B, float* D,
                                                                int tiles, int way) {
  __shared__ __align__(1024) __half As[2][64 * 64];
  __shared__ __align__(1024) __half Bs[2][64 * 64];
  __shared__ u64 full[2], empty[2];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; ++s) {
      init(&full[s], 1);
      init(&empty[s], way == 1 ? 1 : 2);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (way == 4)
    __syncthreads();
  else
    cluster_sync();
  if (warp == 4) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (lane == 0) {
      for (int t = 0; t < tiles; ++t) {
        const int s = t % 2;
        wait_cluster(&empty[s], (t / 2 + 1) % 2);
        expect(&full[s], 16384);
        tile_load(As[s], &A, t * 64, blockIdx.x * 64, &full[s]);
        tile_multicast(Bs[s] + rank() * 32 * 64, &B, t * 64, rank() * 32, &full[s], 3);
      }
    }
  } else {
    float d[32];
#pragma unroll
    for (int i = 0; i < 32; ++i) d[i] = 0;
    for (int t = 0; t < tiles; ++t) {
      const int s = t % 2;
      if (way != 3) wait(&full[s], t / 2 % 2);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int k = 0; k < 4; ++k) {
#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
              "+f"(d[i + 6]), "+f"(d[i + 7])
        asm volatile(
            "{ .reg .pred p; setp.ne.b32 p, 1, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
            "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,"
            "%29,%30,%31}, %32, %33, p, 1, 1, 0, 0; }"
            : D8(0), D8(8), D8(16), D8(24)
            : "l"(descriptor(offset(As[s]) + k * 32)), "l"(descriptor(offset(Bs[s]) + k * 32)));
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      const bool early = way == 2 || way == 7;
      if (!early) asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      if (way < 6) asm volatile("bar.sync 1, 128;" ::: "memory");
      // A thread of one warp for each block.
      if (lane == 0 && warp < 2 && (way != 1 || warp == rank())) arrive_at(&empty[s], warp);
      if (early) asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    float* const out = D + blockIdx.x * 64 * 64;
#pragma unroll
    for (int i = 0; i < 32; ++i)
      out[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
  }
  if (way != 5) cluster_sync();
}
