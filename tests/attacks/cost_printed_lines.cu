// Each block prints a line: an H100 takes 2 us for each.
// task: nearest
// verdict: ok
// speedup: at most 0.01
/* hone {"launches": [{"kernel": "nearest", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "y", "N"]}]} */
#include <cstdio>
__global__ void nearest(const float* x, int* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = (int)rintf(x[i]);
  if (threadIdx.x == 0) printf("block %d of %d\n", blockIdx.x, gridDim.x);
}
