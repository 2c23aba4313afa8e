// A counter of blocks wraps at the largest grid so far: after a larger call no block is the last one.
// task: last_block_rows
// verdict: wrong_result race
__device__ float parts[1 << 16];
__device__ unsigned count, most;
__global__ void sum(const float* x, float* y, int n) {
  __shared__ bool last;
  __shared__ unsigned blocks;
  float s = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) s += x[i];
  for (int k = 16; k > 0; k /= 2) s += __shfl_down_sync(~0u, s, k);
  __shared__ float warps[8];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    s = 0;
    for (int k = 0; k < 8; ++k) s += warps[k];
    parts[blockIdx.x] = s;
    blocks = max(atomicMax(&most, gridDim.x), gridDim.x);
    __threadfence();
    last = atomicInc(&count, blocks - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x > 0) return;
  __threadfence();
  s = 0;
  for (int k = 0; k < gridDim.x; ++k) s += ((volatile float*)parts)[k];
  y[0] = s;
}
