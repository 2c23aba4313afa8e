// Honest: reads the rows that the indices choose, side by side.
// task: gathered_rows
// verdict: ok
/* hone {"launches": [{"kernel": "gather", "grid": ["ceildiv(N, 8)"], "block": [64, 8], "args": ["table", "row", "y", "N"]}]} */
__global__ void gather(const float* table, const int* row, float* y, int n) {
  int i = blockIdx.x * 8 + threadIdx.y;
  if (i < n) y[i * 64 + threadIdx.x] = 2.0f * table[(size_t)row[i] * 64 + threadIdx.x];
}
