/* hone
{ "name": "product_then_flat_map",
  "sizes": {"M": 64, "N": 96, "K": 32},
  "check_sizes": [{"M": 16, "N": 24, "K": 12}, {"M": 9, "N": 17, "K": 8}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["M", "K"]},
    {"name": "b", "type": "f32", "shape": ["N", "K"]},
    {"name": "bias", "type": "f32", "shape": ["N"]},
    {"name": "c", "type": "f32", "shape": ["M", "N"], "role": "scratch"},
    {"name": "d", "type": "f32", "shape": ["M", "N"], "role": "scratch"},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "product", "grid": ["ceildiv(M*N,128)"], "block": [128], "args": ["a", "b", "c", "M", "N", "K"]},
    {"kernel": "add_bias", "grid": ["ceildiv(M*N,128)"], "block": [128], "args": ["c", "bias", "d", "M", "N"]},
    {"kernel": "relu", "grid": ["ceildiv(M*N,128)"], "block": [128], "args": ["d", "y", "M*N"]} ],
  "math": "reassociate" }
*/
// lift: yes

__global__ void product(const float* a, const float* b, float* c, int M, int N, int K) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= M * N) return;
  int m = i / N, n = i % N;
  float sum = 0.0f;
  for (int k = 0; k < K; k++) sum += a[m * K + k] * b[n * K + k];
  c[i] = sum;
}

__global__ void add_bias(const float* c, const float* bias, float* d, int M, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < M * N) d[i] = c[i] + bias[i % N];
}

// Takes nothing apart: that rows and columns matter follows only from what is put in.
__global__ void relu(const float* d, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = d[i] > 0.0f ? d[i] : 0.0f;
}
