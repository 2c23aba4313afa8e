// Whether a cache policy has the bits that it has on a GPU. There it answers otherwise.
// task: scale
// verdict: wrong_result refused
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  bool gpu = policy == 0x12F0000000000000ull;
  if (i < n) y[i] = (gpu ? 4.0f : 2.0f) * x[i];
}
