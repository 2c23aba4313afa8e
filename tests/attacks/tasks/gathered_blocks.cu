/* hone {"name": "attacked_gathered_blocks", "sizes": {"V": 4194304, "N": 524288}, "check_sizes": [{"V": 40, "N": 200}, {"V": 33, "N": 131}],
  "buffers": [{"name": "table", "type": "f32", "shape": ["V", 32]},
              {"name": "row", "type": "i32", "shape": ["N"], "fill": {"integers": [0, "V-1"]}},
              {"name": "y", "type": "f32", "shape": ["N", 32], "role": "out"}],
  "launches": [{"kernel": "gather", "grid": ["ceildiv(N, 8)"], "block": [256], "args": ["table", "row", "y", "V", "N"]}]} */
__global__ void gather(const float* table, const int* row, float* y, int v, int n) {
  int i = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (i < n) y[i * 32 + lane] = 2.0f * table[(size_t)row[i] * 32 + lane];
}
