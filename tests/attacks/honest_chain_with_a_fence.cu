// The same with a fence between them: right.
// task: running_maxima
// verdict: ok
/* hone {"buffers": [{"name": "x", "type": "i32", "shape": ["N"], "fill": {"integers": [0, 1000000]}},
              {"name": "said", "type": "i32", "shape": ["2*ceildiv(N,1024)"], "role": "scratch"},
              {"name": "y", "type": "i32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "clear", "grid": ["ceildiv(N,131072)"], "block": [256], "args": ["said", "2*ceildiv(N,1024)"]},
               {"kernel": "maxima", "grid": ["ceildiv(N,1024)"], "block": [1024], "args": ["x", "said", "y", "N"]}]} */
__global__ void clear(int* said, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) said[i] = 0;
}
__global__ void maxima(const int* x, int* said, int* y, int n) {
  __shared__ int warps[32], before;
  volatile int *top = said, *flag = said + gridDim.x;
  int i = blockIdx.x * 1024 + threadIdx.x, lane = threadIdx.x % 32, v = i < n ? x[i] : 0;
  for (int d = 1; d < 32; d *= 2) {
    int o = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v = max(v, o);
  }
  if (lane == 31) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    int m = 0;
    if (blockIdx.x > 0) {
      while (flag[blockIdx.x - 1] == 0) {}
      m = top[blockIdx.x - 1];
    }
    before = m;
    for (int w = 0; w < 32; ++w) m = max(m, warps[w]);
    top[blockIdx.x] = m;
    __threadfence();
    flag[blockIdx.x] = 1;
  }
  __syncthreads();
  v = max(v, before);
  for (int w = 0; w < threadIdx.x / 32; ++w) v = max(v, warps[w]);
  if (i < n) y[i] = v;
}
