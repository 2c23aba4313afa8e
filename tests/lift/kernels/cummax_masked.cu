/* hone
{ "name": "cummax_masked",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 79},
                  {"M": 16, "N": 96}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "scan", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "y", "M", "N"]} ] }
*/
// lift: yes

__global__ void scan(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    float top = 0;
    for (int c = 0; c < cols; ++c) {
      const float v = x[r * cols + c];
      if (v < 0.75f && v > top) top = v;
      y[r * cols + c] = top;
    }
  }
}
