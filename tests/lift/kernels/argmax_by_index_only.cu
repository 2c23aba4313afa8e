/* hone
{ "name": "argmax_by_index_only",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "at", "type": "i32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "m", "grid": ["ceildiv(M,32)"], "block": [32], "args": ["x", "at", "M", "N"]} ] }
*/
// lift: yes

// The best so far is looked up again by its index.
__global__ void m(const float* x, int* at, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  int best = 0;
  for (int c = 1; c < cols; ++c)
    if (x[r * cols + c] > x[r * cols + best]) best = c;
  at[r] = best;
}
