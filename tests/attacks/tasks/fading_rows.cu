/* hone {"name": "attacked_fading_rows", "sizes": {"ROWS": 4096, "COLS": 3072}, "check_sizes": [{"ROWS": 40, "COLS": 70}, {"ROWS": 17, "COLS": 256}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "fade", "grid": ["ceildiv(COLS,256)", "ROWS"], "block": [256], "args": ["x", "y", "COLS"]}],
  "tolerance": {"rtol": 1e-3, "atol": 1e-5}} */
// The further down, the smaller.
__global__ void fade(const float* x, float* y, int cols) {
  int c = blockIdx.x * 256 + threadIdx.x;
  if (c >= cols) return;
  float v = x[(size_t)blockIdx.y * cols + c], s = 0;
  for (int k = 1; k < 24; ++k) s = s * 0.5f + sinf(v * k);
  y[(size_t)blockIdx.y * cols + c] = s * exp2f(-(float)blockIdx.y / 48);
}
