// Honest: the same numbers added up warp by warp, in whatever order the warps come. Where all are equal, the task's
// sum of powers of two of them has no error, by chance, and this one has some.
// task: steps_of_chance
// verdict: ok
/* hone {"launches": [{"kernel": "steps", "grid": ["B"], "block": [512], "args": ["x", "y", "R"]}]} */
__global__ void steps(const unsigned* x, float* y, int r) {
  __shared__ float all;
  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  unsigned v = x[blockIdx.x * 512 + threadIdx.x];
  for (int j = 0; j < r; ++j) {
    for (int k = 0; k < 60; ++k) v = v * 1664525u + 1013904223u;
    float s = (v >> 8) * 0x1p-24f;
    for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
    if (threadIdx.x % 32 == 0) atomicAdd(&all, s);
  }
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = all;
}
