// Blocks add to a sum by one compare-and-swap and do not look whether it did.
// task: group_sums
// verdict: wrong_result
/* hone {"buffers": [{"name": "x", "type": "i32", "shape": ["N"], "fill": {"integers": [-1000, 1000]}},
              {"name": "y", "type": "i32", "shape": [16], "role": "out"}],
  "launches": [{"kernel": "zero", "grid": [1], "block": [16], "args": ["y"]},
               {"kernel": "sums", "grid": ["ceildiv(N,4096)"], "block": [256], "args": ["x", "y", "N"]}]} */
__global__ void zero(int* y) { y[threadIdx.x] = 0; }
__global__ void sums(const int* x, int* y, int n) {
  __shared__ int all[16];
  int w = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int g = w; g < 16; g += 8) {
    int v = 0;
    for (int k = 0; k < 8; ++k) { int i = blockIdx.x * 4096 + g * 256 + k * 32 + lane; if (i < n) v += x[i]; }
    v = __reduce_add_sync(~0u, v);
    if (lane == 0) all[g] = v;
  }
  __syncthreads();
  if (threadIdx.x < 16) { int old = atomicOr(&y[threadIdx.x], 0); atomicCAS(&y[threadIdx.x], old, old + all[threadIdx.x]); }
}
