// Six slots in turns, each of which adds up when its turn comes again.
// task: square
// verdict: wrong_result
__device__ float slots[6];
__device__ unsigned turn, done;
__global__ void square(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned slot = *(volatile unsigned*)&turn % 6;
  if (i < n) y[i] = x[i] * x[i] + ((volatile float*)slots)[slot];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    if (atomicAdd(&done, 1u) == gridDim.x - 1) {
      done = 0;
      slots[slot] += 0.25f;
      *(volatile unsigned*)&turn = turn + 1;
    }
  }
}
