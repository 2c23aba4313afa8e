/* hone {"name": "attacked_slid_rows", "sizes": {"ROWS": 24000, "COLS": 1024}, "check_sizes": [{"ROWS": 40, "COLS": 70}, {"ROWS": 5, "COLS": 300}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "role": "inout"},
              {"name": "t", "type": "f32", "shape": ["ROWS", "COLS"], "role": "scratch"}],
  "launches": [{"kernel": "copy", "grid": ["ceildiv(COLS,128)", "ROWS"], "block": [128], "args": ["x", "t", "COLS"]},
               {"kernel": "slide", "grid": ["ceildiv(COLS,128)", "ROWS"], "block": [128], "args": ["t", "x", "COLS"]}]} */
__global__ void copy(const float* x, float* t, int cols) {
  int c = blockIdx.x * 128 + threadIdx.x;
  if (c < cols) t[(size_t)blockIdx.y * cols + c] = x[(size_t)blockIdx.y * cols + c];
}
__global__ void slide(const float* t, float* x, int cols) {
  int c = blockIdx.x * 128 + threadIdx.x;
  const float* own = t + (size_t)blockIdx.y * cols;
  if (c < cols) x[(size_t)blockIdx.y * cols + c] = own[c] - (c + 40 < cols ? own[c + 40] : 0.0f);
}
