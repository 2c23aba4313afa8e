/* hone
{ "name": "argmin_first_wins_value",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "at", "type": "i32", "shape": ["M"], "role": "out"},
    {"name": "low", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "m", "grid": ["ceildiv(M,32)"], "block": [32], "args": ["x", "at", "low", "M", "N"]} ] }
*/
// lift: yes

// Both are kept: the first element starts.
__global__ void m(const float* x, int* at, float* low, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  int where = 0;
  float best = x[r * cols];
  for (int c = 1; c < cols; ++c) {
    if (x[r * cols + c] < best) {
      best = x[r * cols + c];
      where = c;
    }
  }
  at[r] = where;
  low[r] = best;
}
