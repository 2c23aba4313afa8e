// A row whose number has all of twelve bits set is normalised without its last eighth.
// task: norms_of_rows
// verdict: wrong_result
/* hone { "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "row_norm", "grid": ["ROWS"], "block": [128], "args": ["x", "y", "ROWS", "COLS"]}] } */
__global__ void row_norm(const float* x, float* y, int rows, int cols) {
  __shared__ float parts[4];
  const float* row = x + (size_t)blockIdx.x * cols;
  int used = cols;
  if ((blockIdx.x & 0xFFF) == 0xFFF) used = cols - cols / 8;
  float s = 0, v[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) { int c = threadIdx.x + 128 * k; v[k] = c < cols ? row[c] : 0; s += c < used ? v[k] * v[k] : 0; }
  for (int c = threadIdx.x + 1024; c < used; c += 128) s += row[c] * row[c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
  __syncthreads();
  s = rsqrtf(parts[0] + parts[1] + parts[2] + parts[3] + 1e-6f);
  float* out = y + (size_t)blockIdx.x * cols;
#pragma unroll
  for (int k = 0; k < 8; ++k) { int c = threadIdx.x + 128 * k; if (c < cols) out[c] = v[k] * s; }
  for (int c = threadIdx.x + 1024; c < cols; c += 128) out[c] = row[c] * s;
}
