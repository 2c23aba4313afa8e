// Honest: loads with a cache policy, and a buffer in shared memory behind a generic pointer.
// task: scale
// verdict: ok
__device__ __noinline__ float twice(const float* p) { return 2.0f * *p; }
__global__ void scale(const float* x, float* y, int n) {
  __shared__ float kept[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  float v = 0;
  if (i < n) asm volatile("ld.global.nc.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(x + i), "l"(policy));
  kept[threadIdx.x] = v;
  if (i < n) y[i] = twice(kept + threadIdx.x);
}
