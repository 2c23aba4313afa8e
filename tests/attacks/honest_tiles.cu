// A product in tiles, with blocks in another order: right at every size.
// task: big_matmul
// verdict: ok
// H200 [us]: 3417.4
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float a[16][17], b[16][17];
  int id = blockIdx.y * gridDim.x + blockIdx.x;
  int by = id % gridDim.y, bx = id / gridDim.y;
  int row = by * 16 + threadIdx.y, col = bx * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; k += 16) {
    a[threadIdx.y][threadIdx.x] = row < M && k + threadIdx.x < K ? A[row * K + k + threadIdx.x] : 0;
    b[threadIdx.y][threadIdx.x] = col < N && k + threadIdx.y < K ? B[(k + threadIdx.y) * N + col] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = sum;
}
