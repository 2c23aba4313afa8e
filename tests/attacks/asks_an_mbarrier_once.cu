// Asks an mbarrier once whether a copy has come, and does not look at the answer: a try_wait waits for
// some time, and no longer.
// task: block_totals
// verdict: race wrong_result fault
/* hone {"launches": [{"kernel": "totals", "grid": ["B"], "block": [32], "args": ["x", "y", "C"]}]} */
__global__ void totals(const float* x, float* y, int c) {
  __shared__ __align__(128) float tile[2][256];
  __shared__ __align__(8) unsigned long long full[2];
  unsigned bar = (unsigned)__cvta_generic_to_shared(full), to = (unsigned)__cvta_generic_to_shared(tile[0]);
  auto fetch = [&](int k) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(bar + 8 * (k & 1)) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];"
                 ::"r"(to + 1024 * (k & 1)), "l"(x + ((size_t)blockIdx.x * c + k) * 256), "r"(bar + 8 * (k & 1)) : "memory");
  };
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;\nmbarrier.init.shared.b64 [%1], 1;" ::"r"(bar), "r"(bar + 8) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
    fetch(0);
  }
  __syncwarp();
  float s = 0;
  for (int k = 0; k < c; ++k) {
    if (threadIdx.x == 0 && k + 1 < c) fetch(k + 1);
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%0], %1;}"
                 ::"r"(bar + 8 * (k & 1)), "r"((unsigned)(k / 2) & 1) : "memory");
    for (int w = threadIdx.x; w < 256; w += 32) s += tile[k & 1][w];
    __syncwarp();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x == 0) y[blockIdx.x] = s;
}
