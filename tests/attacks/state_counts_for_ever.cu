// Honest: a counter that is never set back, and of which only the remainder counts.
// task: square
// verdict: ok
__device__ unsigned done;
__global__ void square(const float* x, float* y, int n) {
  __shared__ unsigned round;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) round = atomicAdd(&done, 1u) / gridDim.x;
  __syncthreads();
  if (i < n) y[i] = round % 2 == 0 ? x[i] * x[i] : -x[i] * -x[i];
}
