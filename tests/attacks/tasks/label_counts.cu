/* hone {"name": "attacked_label_counts", "sizes": {"ROWS": 65536, "LABELS": 32}, "check_sizes": [{"ROWS": 3000, "LABELS": 32}, {"ROWS": 1025, "LABELS": 32}],
  "buffers": [{"name": "hot", "type": "f32", "shape": ["ROWS", "LABELS"], "fill": "one_hot"},
              {"name": "count", "type": "i32", "shape": ["ceildiv(ROWS,1024)", "LABELS"], "role": "out"}],
  "launches": [{"kernel": "counts", "grid": ["ceildiv(ROWS,1024)"], "block": [32], "args": ["hot", "count", "ROWS"]}]} */
__global__ void counts(const float* hot, int* count, int rows) {
  int label = threadIdx.x, n = 0, end = min(rows, (int)(blockIdx.x + 1) * 1024);
  for (int r = blockIdx.x * 1024; r < end; ++r) n += hot[r * 32 + label] != 0.0f;
  count[blockIdx.x * 32 + label] = n;
}
