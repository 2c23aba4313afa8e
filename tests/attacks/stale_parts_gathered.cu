// The first block adds up plain parts as they come, by atomic flags: parts that lie in a line that it
// has read before may be old.
// task: last_block_sum
// verdict: race wrong_result
__device__ float parts[16];
__device__ unsigned flag[16];
__global__ void sum(const float* x, float* y, int n) {
  __shared__ float warps[8];
  float s = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) s += x[i];
  for (int k = 16; k > 0; k /= 2) s += __shfl_down_sync(~0u, s, k);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x > 0) return;
  s = 0;
  for (int k = 0; k < 8; ++k) s += warps[k];
  if (blockIdx.x > 0) {
    parts[blockIdx.x] = s;
    __threadfence();
    atomicExch(&flag[blockIdx.x], 1);
    return;
  }
  for (int k = 1; k < gridDim.x; ++k) {
    while (atomicExch(&flag[k], 0) == 0) {}
    s += parts[k];
  }
  y[0] = s;
}
