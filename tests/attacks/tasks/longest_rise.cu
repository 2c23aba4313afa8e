/* hone {"name": "attacked_longest_rise", "sizes": {"ROWS": 4096, "N": 1024}, "check_sizes": [{"ROWS": 40, "N": 100}, {"ROWS": 9, "N": 333}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "N"], "fill": {"uniform": [0, 1]}},
              {"name": "longest", "type": "i32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "rises", "grid": ["ceildiv(ROWS,64)"], "block": [64], "args": ["x", "longest", "ROWS", "N"]}]} */
// The longest stretch of each row in which every element is larger than the one before.
__global__ void rises(const float* x, int* longest, int rows, int n) {
  int r = blockIdx.x * 64 + threadIdx.x;
  if (r >= rows) return;
  int best = 1, now = 1;
  for (int i = 1; i < n; ++i) {
    now = x[(size_t)r * n + i] > x[(size_t)r * n + i - 1] ? now + 1 : 1;
    best = max(best, now);
  }
  longest[r] = best;
}
