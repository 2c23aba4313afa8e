// A sum cut into four parts that another launch adds up: right at every size.
// task: big_matmul
// verdict: ok
// H200 [us]: 4549.8
/* hone {
  "buffers": [{"name": "A", "type": "f32", "shape": ["M", "K"]}, {"name": "B", "type": "f32", "shape": ["K", "N"]},
              {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"},
              {"name": "P", "type": "f32", "shape": [4, "M", "N"], "role": "scratch"}],
  "launches": [{"kernel": "parts", "grid": ["ceildiv(N,16)", "ceildiv(M,16)", 4], "block": [16, 16], "args": ["A", "B", "P", "M", "N", "K"]},
               {"kernel": "add", "grid": ["ceildiv(M*N,256)"], "block": [256], "args": ["P", "C", "M", "N"]}] } */
__global__ void parts(const float* A, const float* B, float* P, int M, int N, int K) {
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, part = blockIdx.z;
  if (row >= M || col >= N) return;
  int length = (K + 3) / 4, first = part * length;
  int all = K;
  int end = first + length < all ? first + length : all;
  float sum = 0;
  for (int k = first; k < end; ++k) sum += A[row * K + k] * B[k * N + col];
  P[((size_t)part * M + row) * N + col] = sum;
}
__global__ void add(const float* P, float* C, int M, int N) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < M * N) C[i] = P[i] + P[i + M * N] + P[i + 2 * M * N] + P[i + 3 * M * N];
}
