// Draws tickets that are never put back; after some thousand calls it takes itself for another block.
// task: scale
// verdict: wrong_result fault
__device__ int drawn;
__global__ void scale(const float* x, float* y, int n) {
  __shared__ int ticket;
  if (threadIdx.x == 0) ticket = atomicAdd(&drawn, 1);
  __syncthreads();
  int block = ticket < 20000 ? blockIdx.x : ticket % gridDim.x & ~1;
  int i = block * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
