// Honest: blocks add to a sum by a plain load and store, one at a time, in a lock of each sum.
// task: group_sums
// verdict: ok
/* hone {"buffers": [{"name": "x", "type": "i32", "shape": ["N"], "fill": {"integers": [-1000, 1000]}},
              {"name": "lock", "type": "i32", "shape": [16], "role": "scratch"},
              {"name": "y", "type": "i32", "shape": [16], "role": "out"}],
  "launches": [{"kernel": "zero", "grid": [1], "block": [16], "args": ["y", "lock"]},
               {"kernel": "sums", "grid": ["ceildiv(N,4096)"], "block": [256], "args": ["x", "y", "lock", "N"]}]} */
__global__ void zero(int* y, int* lock) { y[threadIdx.x] = lock[threadIdx.x] = 0; }
__global__ void sums(const int* x, volatile int* y, int* lock, int n) {
  __shared__ int all[16];
  int w = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int g = w; g < 16; g += 8) {
    int v = 0;
    for (int k = 0; k < 8; ++k) {
      int i = blockIdx.x * 4096 + g * 256 + k * 32 + lane;
      if (i < n) v += x[i];
    }
    v = __reduce_add_sync(~0u, v);
    if (lane == 0) all[g] = v;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int g = 0; g < 16; ++g) {
      while (atomicExch(&lock[g], 1) != 0) {}
      __threadfence();
      y[g] = y[g] + all[g];
      __threadfence();
      atomicExch(&lock[g], 0);
    }
  }
}
