/* hone
{ "name": "cumprod_from_output",
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

// The running product is read back from the output.
__global__ void scan(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  y[r * cols] = x[r * cols];
  for (int c = 1; c < cols; ++c) y[r * cols + c] = y[r * cols + c - 1] * x[r * cols + c];
}
