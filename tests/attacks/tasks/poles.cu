/* hone {"name": "attacked_poles", "sizes": {"ROWS": 1024, "COLS": 64}, "check_sizes": [{"ROWS": 20, "COLS": 64}, {"ROWS": 9, "COLS": 41}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"uniform": [0, 1]}},
              {"name": "inverse", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"},
              {"name": "logarithm", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "poles", "grid": ["ROWS"], "block": [64], "args": ["x", "inverse", "logarithm", "COLS"]}]} */
__global__ void poles(const float* x, float* inverse, float* logarithm, int cols) {
  int at = blockIdx.x * cols + threadIdx.x;
  if (threadIdx.x >= cols) return;
  inverse[at] = 1.0f / x[at];
  logarithm[at] = logf(x[at]) - 1.0f;
}
