// Cost: each warp of a block adds to one sum in shared memory under a lock, and each lane in turn.
// task: block_totals
// verdict: ok
// speedup: at most 0.25
__global__ void totals(const float* x, float* y, int c) {
  __shared__ int lock;
  __shared__ float total;
  if (threadIdx.x == 0) total = lock = 0;
  __syncthreads();
  float s = 0;
  for (int k = 0; k < c; ++k) s += x[((size_t)blockIdx.x * c + k) * 256 + threadIdx.x];
  for (int lane = 0; lane < 32; ++lane) {
    if (threadIdx.x % 32 == lane) {
      while (atomicCAS(&lock, 0, 1) != 0) {}
      __threadfence_block();
      *(volatile float*)&total += s;
      __threadfence_block();
      atomicExch(&lock, 0);
    }
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}
