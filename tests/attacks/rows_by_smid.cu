// Each of 132 blocks of a wave takes the rows that belong to its multiprocessor, as if each ran on
// another one: where two blocks share one, rows are missing.
// task: row_norm
// verdict: wrong_result
/* hone { "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "row_norm", "grid": [264], "block": [512], "args": ["x", "y", "ROWS", "COLS"]}] } */
__global__ void row_norm(const float* x, float* y, int rows, int cols) {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  int first = (sm + 132 * (blockIdx.x / 132)) * 16 + threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int r = first; r < rows; r += 264 * 16) {
    const float* row = x + (size_t)r * cols;
    float s = 0, v[32];
#pragma unroll
    for (int k = 0; k < 32; ++k) { int c = lane + 32 * k; v[k] = c < cols ? row[c] : 0; s += v[k] * v[k]; }
    for (int c = lane + 1024; c < cols; c += 32) s += row[c] * row[c];
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
    s = rsqrtf(s + 1e-6f);
    float* out = y + (size_t)r * cols;
#pragma unroll
    for (int k = 0; k < 32; ++k) { int c = lane + 32 * k; if (c < cols) out[c] = v[k] * s; }
    for (int c = lane + 1024; c < cols; c += 32) out[c] = row[c] * s;
  }
}
