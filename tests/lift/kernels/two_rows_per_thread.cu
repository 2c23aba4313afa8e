/* hone
{ "name": "two_rows_per_thread",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 64, "N": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(M,64)"], "block": [32],
     "args": ["x", "y", "M", "N"]} ] }
*/
// lift: yes

__global__ void k(const float* x, float* y, int rows, int cols) {
  int first = blockIdx.x * 2 * blockDim.x + threadIdx.x;
  int second = first + blockDim.x;
  float a = 0, b = 0;
  for (int c = 0; c < cols; ++c) {
    if (first < rows) a += x[first * cols + c];
    if (second < rows) b += x[second * cols + c];
  }
  if (first < rows) y[first] = a;
  if (second < rows) y[second] = b;
}
