/* hone
{ "name": "layer_norm_two_pass",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "g", "type": "f32", "shape": ["N"]},
    {"name": "b", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "norm", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "g", "b", "y", "M", "N", 1e-05]} ] }
*/
// lift: yes

__global__ void norm(const float* x, const float* gamma, const float* beta, float* y, int rows,
                     int cols, float eps) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    const float* in = x + r * cols;
    float mean = 0.f, var = 0.f;
    for (int c = 0; c < cols; c++) mean += in[c];
    mean /= cols;
    for (int c = 0; c < cols; c++) {
      float d = in[c] - mean;
      var += d * d;
    }
    float inv = 1.0f / sqrtf(var / cols + eps);
    for (int c = 0; c < cols; c++) y[r * cols + c] = (in[c] - mean) * inv * gamma[c] + beta[c];
  }
}
