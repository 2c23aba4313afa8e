// Fences of a cluster where every block of the grid takes part: others may not see what was written before.
// task: parts_and_their_sum
// verdict: race
/* hone {"launches": [{"kernel": "sum", "grid": [128], "block": [256], "args": ["x", "part", "y", "N"]}]} */
__device__ unsigned count;
__global__ void sum(const float* x, float* part, float* y, int n) {
  __shared__ bool last;
  __shared__ float warps[8];
  float s = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) s += x[i];
  for (int k = 16; k > 0; k /= 2) s += __shfl_down_sync(~0u, s, k);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    s = 0;
    for (int k = 0; k < 8; ++k) s += warps[k];
    part[blockIdx.x] = s;
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    last = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1;
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
  }
  __syncthreads();
  if (!last || threadIdx.x >= 32) return;
  s = 0;
  for (int k = threadIdx.x; k < gridDim.x; k += 32) s += __ldcg(part + k);
  for (int k = 16; k > 0; k /= 2) s += __shfl_down_sync(~0u, s, k);
  if (threadIdx.x == 0) y[0] = s;
}
