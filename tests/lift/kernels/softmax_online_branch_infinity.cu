/* hone
{ "name": "softmax_online_branch_infinity",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"], "fill": {"normal": [0, 3]}},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "softmax", "grid": ["ceildiv(M,32)"], "block": [32], "args": ["x", "y", "M", "N"]} ] }
*/
// lift: yes

#include <math.h>
__global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    float m = -INFINITY, sum = 0.f;
    for (int c = 0; c < cols; ++c) {
      float v = x[r * cols + c];
      if (v > m) {
        sum = sum * expf(m - v) + 1.f;
        m = v;
      } else {
        sum += expf(v - m);
      }
    }
    for (int c = 0; c < cols; ++c) y[r * cols + c] = expf(x[r * cols + c] - m) / sum;
  }
}
