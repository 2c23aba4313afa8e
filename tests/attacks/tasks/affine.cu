/* hone {"name": "attacked_affine", "sizes": {"ROWS": 1024, "COLS": 64}, "check_sizes": [{"ROWS": 33, "COLS": 64}, {"ROWS": 9, "COLS": 41}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "gain", "type": "f32", "shape": ["COLS"], "fill": 1},
              {"name": "bias", "type": "f32", "shape": ["COLS"], "fill": 0},
              {"name": "keep", "type": "i32", "shape": ["COLS"], "fill": 1},
              {"name": "on", "type": "bool", "shape": ["ROWS"], "fill": {"constant": true}},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "inout", "fill": 0}],
  "launches": [{"kernel": "affine", "grid": ["ROWS"], "block": [64], "args": ["x", "gain", "bias", "keep", "on", "y", "COLS"]}]} */
__global__ void affine(const float* x, const float* gain, const float* bias, const int* keep, const bool* on,
                       float* y, int cols) {
  int c = threadIdx.x, at = blockIdx.x * cols + c;
  if (c < cols) y[at] += on[blockIdx.x] ? keep[c] * x[at] * gain[c] + bias[c] : 0.0f;
}
