// Blocks hand a sum on behind its flag in one word of 128 bits, which is never seen in parts: right.
// task: parts_and_their_sum
// verdict: ok
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
    do asm volatile("{.reg .b128 w; ld.relaxed.gpu.global.b128 w, [%2]; mov.b128 {%0,%1}, w;}" : "=l"(flag), "=l"(before) : "l"(handed + b - 1) : "memory"); while (flag != own);
    s += __longlong_as_double((long long)before);
  }
  if (b == 15) y[0] = s;
  asm volatile("{.reg .b128 w; mov.b128 w, {%1,%2}; st.relaxed.gpu.global.b128 [%0], w;}" ::"l"(handed + b), "l"(own), "l"(__double_as_longlong(s)) : "memory");
}
