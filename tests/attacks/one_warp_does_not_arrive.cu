// As honest_all_threads_arrive, but the mbarrier expects the threads of fifteen warps: the last one comes too late.
// task: waves_in_a_block
// verdict: race fault wrong_result
__global__ void waves(const unsigned* x, unsigned* y, int r) {
  __shared__ unsigned s[2][512];
  __shared__ __align__(8) unsigned long long bar;
  int t = threadIdx.x, i = blockIdx.x * 512 + t;
  unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 480;" ::"r"(at));
  s[0][t] = x[i];
  __syncthreads();
  for (int j = 0; j < r; ++j) {
    s[(j + 1) % 2][t] = s[j % 2][t] * 5u + s[j % 2][(t + 31) % 512];
    if (t < 480) asm volatile("{.reg .b64 st; mbarrier.arrive.shared.b64 st, [%0];}" ::"r"(at) : "memory");
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra W;}" ::"r"(at), "r"(j & 1) : "memory");
  }
  y[i] = s[r % 2][t];
}
