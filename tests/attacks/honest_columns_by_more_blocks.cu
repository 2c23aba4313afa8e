// Sets to zero and adds, in other pieces.
// task: sums_of_columns
// verdict: ok
/* hone {"launches": [{"kernel": "zero", "grid": [1], "block": [1024], "args": ["s", "COLS"]},
               {"kernel": "add", "grid": ["ceildiv(COLS,512)", "ceildiv(ROWS,256)"], "block": [512], "args": ["x", "s", "ROWS", "COLS"]}]} */
__global__ void zero(float* s, int cols) {
  for (int c = threadIdx.x; c < cols; c += 1024) s[c] = 0;
}
__global__ void add(const float* x, float* s, int rows, int cols) {
  int c = blockIdx.x * 512 + threadIdx.x, first = blockIdx.y * 256;
  if (c >= cols) return;
  float v = 0;
  for (int r = first; r < min(rows, first + 256); ++r) v += x[(size_t)r * cols + c];
  atomicAdd(&s[c], v);
}
