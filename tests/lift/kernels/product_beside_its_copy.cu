/* hone
{ "name": "product_beside_its_copy",
  "sizes": {"M": 64, "N": 96, "K": 32},
  "check_sizes": [{"M": 16, "N": 24, "K": 12}, {"M": 9, "N": 17, "K": 8}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["M", "K"]},
    {"name": "b", "type": "f32", "shape": ["N", "K"]},
    {"name": "bias", "type": "f32", "shape": ["N"]},
    {"name": "c", "type": "f32", "shape": ["M", "N"], "role": "scratch"},
    {"name": "copy", "type": "f32", "shape": ["M", "N"], "role": "scratch"},
    {"name": "d", "type": "f32", "shape": ["M", "N"], "role": "scratch"},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "product", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 16], "args": ["a", "b", "c", "M", "N", "K"]},
    {"kernel": "keep", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 16], "args": ["c", "copy", "M", "N"]},
    {"kernel": "add_bias", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 16], "args": ["c", "bias", "d", "M", "N"]},
    {"kernel": "gated", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 16], "args": ["d", "copy", "y", "M", "N"]} ],
  "math": "reassociate" }
*/
// lift: yes

__global__ void product(const float* a, const float* b, float* c, int M, int N, int K) {
  int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y * blockDim.y + threadIdx.y;
  if (m >= M || n >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; k++) sum += a[m * K + k] * b[n * K + k];
  c[m * N + n] = sum;
}

__global__ void keep(const float* c, float* copy, int M, int N) {
  int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y * blockDim.y + threadIdx.y;
  if (m < M && n < N) copy[m * N + n] = c[m * N + n];
}

__global__ void add_bias(const float* c, const float* bias, float* d, int M, int N) {
  int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y * blockDim.y + threadIdx.y;
  if (m < M && n < N) d[m * N + n] = c[m * N + n] + bias[n];
}

// What it reads first comes from the product while the copy, which reads that too, still stands between.
__global__ void gated(const float* d, const float* copy, float* y, int M, int N) {
  int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y * blockDim.y + threadIdx.y;
  if (m < M && n < N) y[m * N + n] = d[m * N + n] * copy[m * N + n];
}
