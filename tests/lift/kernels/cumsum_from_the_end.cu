/* hone
{ "name": "cumsum_from_the_end",
  "sizes": {"M": 256, "N": 512},
  "check_sizes": [{"M": 5, "N": 50},
                  {"M": 8, "N": 33}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "sums", "grid": ["ceildiv(M,128)"], "block": [128], "args": ["x", "y", "M", "N"]} ] }
*/
// lift: yes

// Both the loop and where it stores fall.
__global__ void sums(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0.f;
  for (int c = cols - 1; c >= 0; c--) {
    sum += x[r * cols + c];
    y[r * cols + c] = sum;
  }
}
