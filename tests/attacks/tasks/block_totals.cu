/* hone {"name": "attacked_block_totals", "sizes": {"B": 8448, "C": 16}, "check_sizes": [{"B": 5, "C": 3}, {"B": 3, "C": 7}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["B", "C", 256], "fill": {"uniform": [0, 1]}},
              {"name": "y", "type": "f32", "shape": ["B"], "role": "out"}],
  "launches": [{"kernel": "totals", "grid": ["B"], "block": [256], "args": ["x", "y", "C"]}],
  "tolerance": {"rtol": 1e-3}} */
__global__ void totals(const float* x, float* y, int c) {
  __shared__ float parts[8];
  float s = 0;
  for (int k = 0; k < c; ++k) s += x[((size_t)blockIdx.x * c + k) * 256 + threadIdx.x];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 8; ++w) s += parts[w];
    y[blockIdx.x] = s;
  }
}
