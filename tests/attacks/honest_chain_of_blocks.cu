// One launch: each block waits until the one before it has said how far it came.
// task: running_maxima
// verdict: ok
/* hone {"buffers": [{"name": "x", "type": "i32", "shape": ["N"], "fill": {"integers": [0, 1000000]}},
              {"name": "said", "type": "i32", "shape": ["ceildiv(N,1024)"], "role": "scratch"},
              {"name": "y", "type": "i32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "clear", "grid": ["ceildiv(N,262144)"], "block": [256], "args": ["said", "ceildiv(N,1024)"]},
               {"kernel": "maxima", "grid": ["ceildiv(N,1024)"], "block": [1024], "args": ["x", "said", "y", "N"]}]} */
__global__ void clear(int* said, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) said[i] = -1;
}
__global__ void maxima(const int* x, int* said, int* y, int n) {
  __shared__ int warps[32], before;
  int i = blockIdx.x * 1024 + threadIdx.x, lane = threadIdx.x % 32, v = i < n ? x[i] : 0;
  for (int d = 1; d < 32; d *= 2) {
    int o = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v = max(v, o);
  }
  if (lane == 31) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    int m = 0;
    if (blockIdx.x > 0)
      while ((m = *(volatile int*)&said[blockIdx.x - 1]) < 0) {}
    before = m;
    for (int w = 0; w < 32; ++w) m = max(m, warps[w]);
    __threadfence();
    *(volatile int*)&said[blockIdx.x] = m;
  }
  __syncthreads();
  v = max(v, before);
  for (int w = 0; w < threadIdx.x / 32; ++w) v = max(v, warps[w]);
  if (i < n) y[i] = v;
}
