// Honest: an mbarrier at which all 512 threads arrive, in place of __syncthreads().
// task: waves_in_a_block
// verdict: ok
__global__ void waves(const unsigned* x, unsigned* y, int r) {
  __shared__ unsigned s[2][512];
  __shared__ __align__(8) unsigned long long bar;
  int t = threadIdx.x, i = blockIdx.x * 512 + t;
  unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 512;" ::"r"(at));
  s[0][t] = x[i];
  __syncthreads();
  for (int j = 0; j < r; ++j) {
    s[(j + 1) % 2][t] = s[j % 2][t] * 5u + s[j % 2][(t + 31) % 512];
    asm volatile("{.reg .b64 st; .reg .pred p; mbarrier.arrive.shared.b64 st, [%0]; W: mbarrier.try_wait.shared.b64 p, [%0], st; @!p bra W;}" ::"r"(at) : "memory");
  }
  y[i] = s[r % 2][t];
}
