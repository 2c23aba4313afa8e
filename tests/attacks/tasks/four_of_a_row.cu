/* hone {"name": "attacked_four_of_a_row", "sizes": {"ROWS": 4096, "N": 1024}, "check_sizes": [{"ROWS": 40, "N": 256}, {"ROWS": 13, "N": 300}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "N"], "fill": {"uniform": [0, 1]}},
              {"name": "y", "type": "f32", "shape": ["ROWS", 4], "role": "out"}],
  "launches": [{"kernel": "largest", "grid": ["ceildiv(ROWS,64)"], "block": [64], "args": ["x", "y", "ROWS", "N"]}]} */
// The four largest numbers of each row, the largest first.
__global__ void largest(const float* x, float* y, int rows, int n) {
  int r = blockIdx.x * 64 + threadIdx.x;
  if (r >= rows) return;
  float top[4] = {-1, -1, -1, -1};
  for (int c = 0; c < n; ++c) {
    float v = x[(size_t)r * n + c];
    for (int k = 0; k < 4; ++k) {
      float low = fminf(top[k], v);
      top[k] = fmaxf(top[k], v);
      v = low;
    }
  }
  for (int k = 0; k < 4; ++k) y[r * 4 + k] = top[k];
}
