// Takes the output for zero where there are many columns.
// task: sums_of_columns
// verdict: fault wrong_result unsupported
/* hone {"launches": [{"kernel": "zero", "grid": ["max(1,ceildiv(COLS,256)*(COLS<1000))"], "block": [256], "args": ["s", "COLS"]},
               {"kernel": "add", "grid": ["ceildiv(COLS,256)", "ceildiv(ROWS,256)"], "block": [256], "args": ["x", "s", "ROWS", "COLS"]}]} */
__global__ void zero(float* s, int cols) {
  int c = blockIdx.x * 256 + threadIdx.x;
  if (c < cols) s[c] = 0;
}
__global__ void add(const float* x, float* s, int rows, int cols) {
  int c = blockIdx.x * 256 + threadIdx.x, first = blockIdx.y * 256;
  if (c >= cols) return;
  float v = 0;
  for (int r = first; r < min(rows, first + 256); ++r) v += x[(size_t)r * cols + c];
  atomicAdd(&s[c], v);
}
