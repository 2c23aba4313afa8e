/* hone
{ "name": "dot_four_accumulators",
  "sizes": {"M": 64, "K": 512},
  "check_sizes": [{"M": 9, "K": 40}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["M", "K"]},
    {"name": "x", "type": "f32", "shape": ["K"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "gemv", "grid": ["ceildiv(M,32)"], "block": [32], "args": ["A", "x", "y", "M", "K"]} ] }
*/
// lift: yes

// Unrolled by hand.
__global__ void gemv(const float* A, const float* x, float* y, int M, int K) {
  int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= M) return;
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (int k = 0; k < K; k += 4) {
    s0 += A[m * K + k] * x[k];
    s1 += A[m * K + k + 1] * x[k + 1];
    s2 += A[m * K + k + 2] * x[k + 2];
    s3 += A[m * K + k + 3] * x[k + 3];
  }
  y[m] = (s0 + s1) + (s2 + s3);
}
