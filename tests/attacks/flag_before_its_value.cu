// Blocks hand a sum on behind its flag, in one relaxed store of two words of eight bytes, between other work:
// others may see the flag first.
// task: parts_and_their_sum
// verdict: wrong_result race fault
/* hone {"launches": [{"kernel": "sum", "grid": [16], "block": [256], "args": ["x", "y", "N"]}]} */
__device__ ulonglong2 handed[16];
__global__ void sum(const float* x, float* y, int n) {
  __shared__ double warps[8];
  double s = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) s += x[i];
  for (int k = 16; k > 0; k /= 2) s += __shfl_down_sync(~0u, s, k);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x > 0) return;
  s = 0;
  for (int k = 0; k < 8; ++k) s += warps[k];
  unsigned b = blockIdx.x;
  unsigned long long own, flag, before;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(own) : "l"(handed + b) : "memory");
  own += 1;
  if (b > 0) {
    do asm volatile("ld.relaxed.gpu.global.v2.u64 {%0,%1}, [%2];" : "=l"(flag), "=l"(before) : "l"(handed + b - 1) : "memory"); while (flag != own);
    s += __longlong_as_double((long long)before);
  }
  if (b == 15) y[0] = s;
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1,%2};" ::"l"(handed + b), "l"(own), "l"(__double_as_longlong(s)) : "memory");
}
