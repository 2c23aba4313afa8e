/* hone
{ "name": "moving_average_recurrence",
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
// lift: no: cannot be shown to be a reduction or a prefix

// s = 0.9 s + 0.1 x: linear, but no sum.
__global__ void scan(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int c = 0; c < cols; ++c) {
    s = 0.9f * s + 0.1f * x[r * cols + c];
    y[r * cols + c] = s;
  }
}
