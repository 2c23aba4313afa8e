/* hone {"name": "attacked_sums_of_columns", "sizes": {"ROWS": 65536, "COLS": 2048}, "check_sizes": [{"ROWS": 70, "COLS": 300}, {"ROWS": 128, "COLS": 64}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"uniform": [0, 1]}},
              {"name": "s", "type": "f32", "shape": ["COLS"], "role": "out"}],
  "launches": [{"kernel": "zero", "grid": ["ceildiv(COLS,256)"], "block": [256], "args": ["s", "COLS"]},
               {"kernel": "add", "grid": ["ceildiv(COLS,256)", "ceildiv(ROWS,64)"], "block": [256], "args": ["x", "s", "ROWS", "COLS"]}],
  "tolerance": {"rtol": 1e-3, "atol": 1e-3}} */
__global__ void zero(float* s, int cols) {
  int c = blockIdx.x * 256 + threadIdx.x;
  if (c < cols) s[c] = 0;
}
__global__ void add(const float* x, float* s, int rows, int cols) {
  int c = blockIdx.x * 256 + threadIdx.x, first = blockIdx.y * 64;
  if (c >= cols) return;
  float v = 0;
  for (int r = first; r < min(rows, first + 64); ++r) v += x[(size_t)r * cols + c];
  atomicAdd(&s[c], v);
}
