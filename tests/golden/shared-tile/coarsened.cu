/* hone
{"name": "m", "sizes": {"M": 128, "N": 256, "K": 64}, "check_sizes": [{"M": 32, "N": 128, "K": 20}], "buffers": [{"name": "A", "type": "f32", "shape": ["M", "K"], "fill": {"uniform": [-1, 1]}}, {"name": "B", "type": "f32", "shape": ["N", "K"], "fill": {"uniform": [-1, 1]}}, {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"}], "launches": [{"kernel": "matmul", "grid": ["N/128", "M/32"], "block": [16, 16], "args": ["A", "B", "C", "M", "N", "K"]}]}
*/
// What coarsen-threads leaves: runs of four columns, two rows a block height apart.
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  float sum[2][8];
#pragma unroll
  for (int jy = 0; jy < 2; ++jy)
#pragma unroll
    for (int jx = 0; jx < 8; ++jx) sum[jy][jx] = 0.0f;
  for (int k = 0; k < K; k++) {
#pragma unroll
    for (int jy = 0; jy < 2; ++jy) {
      int row = (blockIdx.y * 2 + jy) * blockDim.y + threadIdx.y;
#pragma unroll
      for (int jx = 0; jx < 8; ++jx) {
        int col = (blockIdx.x * 2 + jx / 4) * (blockDim.x * 4) + threadIdx.x * 4 + jx % 4;
        sum[jy][jx] += A[row * K + k] * B[col * K + k];
      }
    }
  }
#pragma unroll
  for (int jy = 0; jy < 2; ++jy) {
    int row = (blockIdx.y * 2 + jy) * blockDim.y + threadIdx.y;
#pragma unroll
    for (int jx = 0; jx < 8; ++jx) {
      int col = (blockIdx.x * 2 + jx / 4) * (blockDim.x * 4) + threadIdx.x * 4 + jx % 4;
      C[row * N + col] = sum[jy][jx];
    }
  }
}
