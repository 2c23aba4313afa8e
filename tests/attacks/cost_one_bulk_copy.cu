// Cost: one tile at a time by the copy engine, one warp for each block.
// task: block_totals
// verdict: ok
// speedup: at most 0.6
/* hone {"launches": [{"kernel": "totals", "grid": ["B"], "block": [32], "args": ["x", "y", "C"]}]} */
__global__ void totals(const float* x, float* y, int c) {
  __shared__ __align__(128) float tile[256];
  __shared__ __align__(8) unsigned long long full;
  __shared__ char room[40000];
  if (c < 0) room[threadIdx.x] = 1;
  unsigned bar = (unsigned)__cvta_generic_to_shared(&full), to = (unsigned)__cvta_generic_to_shared(tile);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncwarp();
  float s = c < 0 ? room[7] : 0;
  for (int k = 0; k < c; ++k) {
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(bar) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];"
                   ::"r"(to), "l"(x + ((size_t)blockIdx.x * c + k) * 256), "r"(bar) : "memory");
    }
    unsigned done = 0;
    while (!done)
      asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                   : "=r"(done) : "r"(bar), "r"((unsigned)k & 1) : "memory");
    for (int w = threadIdx.x; w < 256; w += 32) s += tile[w];
    __syncwarp();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x == 0) y[blockIdx.x] = s;
}
