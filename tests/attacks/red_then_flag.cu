// Sums by atomics that answer nothing, then a ticket; a fence of the block is none for other blocks.
// task: last_block_sum
// verdict: wrong_result race uninitialised fault
__device__ float total[64];
__device__ unsigned count;
__global__ void sum(const float* x, float* y, int n) {
  float s = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) s += x[i];
  for (int k = 16; k > 0; k /= 2) s += __shfl_down_sync(~0u, s, k);
  if (threadIdx.x % 32 == 0) atomicAdd(&total[32], s);
  __threadfence_block();
  __syncthreads();
  if (threadIdx.x == 0 && atomicInc(&count, gridDim.x - 1) == gridDim.x - 1) y[0] = atomicExch(&total[32], 0.0f);
}
