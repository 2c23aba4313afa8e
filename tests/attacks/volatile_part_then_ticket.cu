// The last block adds up volatile parts; nothing orders a part and the ticket after it.
// task: last_block_sum
// verdict: wrong_result race uninitialised fault
__device__ float parts[4096];
__device__ unsigned count;
__global__ void sum(const float* x, float* y, int n) {
  __shared__ bool last;
  float s = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) s += x[i];
  for (int k = 16; k > 0; k /= 2) s += __shfl_down_sync(~0u, s, k);
  __shared__ float warps[8];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    s = 0;
    for (int k = 0; k < 8; ++k) s += warps[k];
    *(volatile float*)&parts[blockIdx.x] = s;
    last = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x > 0) return;
  s = 0;
  for (int k = 0; k < gridDim.x; ++k) s += ((volatile float*)parts)[k];
  y[0] = s;
}
