/* hone
{ "name": "matmul_double_buffer",
  "sizes": {"M": 256, "N": 256, "K": 256},
  "check_sizes": [{"M": 32, "N": 16, "K": 48}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["M", "K"]},
    {"name": "B", "type": "f32", "shape": ["K", "N"]},
    {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "gemm", "grid": ["N/16", "M/16"], "block": [16, 16], "args": ["A", "B", "C", "M", "N", "K"]} ] }
*/
// lift: yes

__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float As[2][16][16], Bs[2][16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  float acc = 0;
  int cur = 0;
  As[0][ty][tx] = A[row * K + tx];
  Bs[0][ty][tx] = B[ty * N + col];
  __syncthreads();
  for (int k0 = 16; k0 <= K; k0 += 16) {
    if (k0 < K) {
      As[cur ^ 1][ty][tx] = A[row * K + k0 + tx];
      Bs[cur ^ 1][ty][tx] = B[(k0 + ty) * N + col];
    }
    for (int k = 0; k < 16; ++k) acc += As[cur][ty][k] * Bs[cur][k][tx];
    __syncthreads();
    cur ^= 1;
  }
  C[row * N + col] = acc;
}
