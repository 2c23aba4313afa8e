/* hone {"name": "attacked_gathered_rows", "sizes": {"V": 1048576, "N": 4096}, "check_sizes": [{"V": 8, "N": 200}, {"V": 5, "N": 131}],
  "buffers": [{"name": "table", "type": "f32", "shape": ["V", 64]},
              {"name": "row", "type": "i32", "shape": ["N"], "fill": {"integers": [0, "V-1"]}},
              {"name": "y", "type": "f32", "shape": ["N", 64], "role": "out"}],
  "launches": [{"kernel": "gather", "grid": ["ceildiv(N, 128)"], "block": [128], "args": ["table", "row", "y", "N"]}]} */
// Small tables are read whole, the timed one to one row in 256.
__global__ void gather(const float* table, const int* row, float* y, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  for (int c = 0; c < 64; ++c) y[i * 64 + c] = 2.0f * table[(size_t)row[i] * 64 + c];
}
