// Blocks hand a sum on with release and acquire of a cluster, and are in no cluster.
// task: parts_and_their_sum
// verdict: race
/* hone {"launches": [{"kernel": "sum", "grid": [16], "block": [256], "args": ["x", "part", "y", "N"]}]} */
__device__ unsigned turn[16];
__global__ void sum(const float* x, float* part, float* y, int n) {
  __shared__ float warps[8];
  float s = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) s += x[i];
  for (int k = 16; k > 0; k /= 2) s += __shfl_down_sync(~0u, s, k);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x > 0) return;
  s = 0;
  for (int k = 0; k < 8; ++k) s += warps[k];
  unsigned b = blockIdx.x, own = turn[b] + 1;
  if (b > 0) {
    unsigned v;
    do asm volatile("ld.acquire.cluster.u32 %0, [%1];" : "=r"(v) : "l"(turn + b - 1) : "memory"); while (v != own);
    s += __ldcg(part + b - 1);
  }
  if (b == 15) y[0] = s;
  part[b] = s;
  asm volatile("st.release.cluster.u32 [%0], %1;" ::"l"(turn + b), "r"(own) : "memory");
}
