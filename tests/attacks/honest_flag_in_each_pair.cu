// Blocks hand two sums on in one store of 16 bytes with a flag beside each of them, and wait for both: right.
// task: parts_and_their_sum
// verdict: ok
/* hone {"launches": [{"kernel": "sum", "grid": [16], "block": [256], "args": ["x", "y", "N"]}]} */
__device__ float4 handed[16];
__global__ void sum(const float* x, float* y, int n) {
  __shared__ float warps[8];
  float s = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) s += x[i];
  for (int k = 16; k > 0; k /= 2) s += __shfl_down_sync(~0u, s, k);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x > 0) return;
  float low = 0, high = 0;
  for (int k = 0; k < 4; ++k) low += warps[k], high += warps[4 + k];
  unsigned b = blockIdx.x;
  float own, a, c, d, e;
  asm volatile("ld.volatile.global.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(a), "=f"(own), "=f"(c), "=f"(d) : "l"(handed + b) : "memory");
  own += 1;
  if (b > 0) {
    do asm volatile("ld.volatile.global.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(a), "=f"(d), "=f"(c), "=f"(e) : "l"(handed + b - 1) : "memory"); while (d != own || e != own);
    low += a, high += c;
  }
  if (b == 15) y[0] = low + high;
  asm volatile("st.volatile.global.v4.f32 [%0], {%1,%2,%3,%2};" ::"l"(handed + b), "f"(low), "f"(own), "f"(high) : "memory");
}
