/* hone {"name": "attacked_longest_climb", "sizes": {"ROWS": 4096, "N": 1024}, "check_sizes": [{"ROWS": 5, "N": 100}, {"ROWS": 3, "N": 333}],
  "buffers": [{"name": "order", "type": "i32", "shape": ["ROWS", "N"], "fill": "permutation"},
              {"name": "longest", "type": "i32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "climbs", "grid": ["ceildiv(ROWS,64)"], "block": [64], "args": ["order", "longest", "ROWS", "N"]}]} */
__global__ void climbs(const int* order, int* longest, int rows, int n) {
  int r = blockIdx.x * 64 + threadIdx.x;
  if (r >= rows) return;
  int best = 1, now = 1;
  for (int i = 1; i < n; ++i) {
    now = order[r * n + i] > order[r * n + i - 1] ? now + 1 : 1;
    best = max(best, now);
  }
  longest[r] = best;
}
