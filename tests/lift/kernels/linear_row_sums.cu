/* hone
{ "name": "linear_row_sums",
  "sizes": {"M": 256, "N": 128, "K": 512},
  "check_sizes": [{"M": 5, "N": 7, "K": 50},
                  {"M": 8, "N": 16, "K": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "K"]},
    {"name": "w", "type": "f32", "shape": ["N", "K"]},
    {"name": "h", "type": "f32", "shape": ["M", "N"], "role": "scratch"},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "linear", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 16],
     "args": ["x", "w", "h", "M", "N", "K"]},
    {"kernel": "sums", "grid": ["ceildiv(M,64)"], "block": [64], "args": ["h", "y", "M", "N"]} ] }
*/
// lift: yes

// The sum of a product's columns needs no product: it is one with the sum of the weights.
__global__ void linear(const float* x, const float* w, float* h, int rows, int cols, int depth) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows || c >= cols) return;
  float sum = 0.f;
  for (int k = 0; k < depth; ++k) sum += x[r * depth + k] * w[c * depth + k];
  h[r * cols + c] = sum / 2.f;
}
__global__ void sums(const float* h, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0.f;
  for (int c = 0; c < cols; ++c) sum += h[r * cols + c];
  y[r] = sum * 1.5f;
}
