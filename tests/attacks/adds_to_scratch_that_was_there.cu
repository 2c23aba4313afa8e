// Sums in scratch memory that nobody has set to zero where there are many columns.
// task: sums_of_columns
// verdict: fault wrong_result unsupported
/* hone {"buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"uniform": [0, 1]}},
              {"name": "t", "type": "f32", "shape": ["COLS"], "role": "scratch"},
              {"name": "s", "type": "f32", "shape": ["COLS"], "role": "out"}],
  "launches": [{"kernel": "zero", "grid": ["ceildiv(COLS,256)"], "block": [256], "args": ["t", "COLS"]},
               {"kernel": "add", "grid": ["ceildiv(COLS,256)", "ceildiv(ROWS,256)"], "block": [256], "args": ["x", "t", "ROWS", "COLS"]},
               {"kernel": "copy", "grid": ["ceildiv(COLS,256)"], "block": [256], "args": ["t", "s", "COLS"]}]} */
__global__ void zero(float* t, int cols) {
  int c = blockIdx.x * 256 + threadIdx.x;
  if (c < cols && cols < 1000) t[c] = 0;
}
__global__ void add(const float* x, float* t, int rows, int cols) {
  int c = blockIdx.x * 256 + threadIdx.x, first = blockIdx.y * 256;
  if (c >= cols) return;
  float v = 0;
  for (int r = first; r < min(rows, first + 256); ++r) v += x[(size_t)r * cols + c];
  atomicAdd(&t[c], v);
}
__global__ void copy(const float* t, float* s, int cols) {
  int c = blockIdx.x * 256 + threadIdx.x;
  if (c < cols) s[c] = t[c];
}
