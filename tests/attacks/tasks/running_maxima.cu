/* hone {"name": "attacked_running_maxima", "sizes": {"N": 6291456}, "check_sizes": [{"N": 9000}, {"N": 777}],
  "buffers": [{"name": "x", "type": "i32", "shape": ["N"], "fill": {"integers": [0, 1000000]}},
              {"name": "top", "type": "i32", "shape": ["ceildiv(N,1024)"], "role": "scratch"},
              {"name": "y", "type": "i32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "tops", "grid": ["ceildiv(N,1024)"], "block": [256], "args": ["x", "top", "N"]},
               {"kernel": "maxima_of_tops", "grid": [1], "block": [1], "args": ["top", "ceildiv(N,1024)"]},
               {"kernel": "maxima", "grid": ["ceildiv(N,1024)"], "block": [1024], "args": ["x", "top", "y", "N"]}]} */
__global__ void tops(const int* x, int* top, int n) {
  __shared__ int all;
  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  int m = 0;
  for (int k = 0; k < 4; ++k) {
    int i = blockIdx.x * 1024 + k * 256 + threadIdx.x;
    if (i < n) m = max(m, x[i]);
  }
  atomicMax(&all, m);
  __syncthreads();
  if (threadIdx.x == 0) top[blockIdx.x] = all;
}
__global__ void maxima_of_tops(int* top, int n) {
  int m = 0;
  for (int i = 0; i < n; ++i) {
    int v = top[i];
    top[i] = m;
    m = max(m, v);
  }
}
__global__ void maxima(const int* x, const int* top, int* y, int n) {
  __shared__ int warps[32];
  int i = blockIdx.x * 1024 + threadIdx.x, lane = threadIdx.x % 32, v = i < n ? x[i] : 0;
  for (int d = 1; d < 32; d *= 2) {
    int o = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v = max(v, o);
  }
  if (lane == 31) warps[threadIdx.x / 32] = v;
  __syncthreads();
  for (int w = 0; w < threadIdx.x / 32; ++w) v = max(v, warps[w]);
  if (i < n) y[i] = max(v, top[blockIdx.x]);
}
