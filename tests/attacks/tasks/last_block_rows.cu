/* hone {"name": "attacked_total_of_blocks", "sizes": {"N": 1048576}, "check_sizes": [{"N": 10000}, {"N": 777}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [0, 1]}}, {"name": "y", "type": "f32", "shape": [1], "role": "out"}],
  "launches": [{"kernel": "sum", "grid": ["ceildiv(N,1024)"], "block": [256], "args": ["x", "y", "N"]}],
  "tolerance": {"rtol": 1e-4}} */
__device__ float parts[1 << 16];
__device__ unsigned count;
__global__ void sum(const float* x, float* y, int n) {
  __shared__ float all[256];
  __shared__ bool last;
  float s = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) s += x[i];
  all[threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    s = 0;
    for (int k = 0; k < 256; ++k) s += all[k];
    parts[blockIdx.x] = s;
    __threadfence();
    last = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x > 0) return;
  __threadfence();
  s = 0;
  for (int k = 0; k < gridDim.x; ++k) s += ((volatile float*)parts)[k];
  y[0] = s;
}
