/* hone
{ "name": "argmin_columns",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "i64", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "argmin", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["x", "y", "M", "N"]} ] }
*/
// lift: yes

__global__ void argmin(const float* x, long long* y, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  float least = INFINITY;
  long long at = 0;
  for (int r = 0; r < rows; ++r) {
    float v = x[(size_t)r * cols + c];
    if (v < least) { least = v; at = r; }
  }
  y[c] = at;
}
