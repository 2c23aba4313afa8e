// Honest: the same, with counters in a variable, after a launch that scales A.
// task: big_matmul
// verdict: ok
__device__ unsigned ended[1 << 16];
/* hone {
  "buffers": [{"name": "A", "type": "f32", "shape": ["M", "K"]}, {"name": "B", "type": "f32", "shape": ["K", "N"]},
              {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"},
              {"name": "H", "type": "f32", "shape": ["M", "K"], "role": "scratch"},
              {"name": "P", "type": "f32", "shape": [4, "M", "N"], "role": "scratch"}],
  "launches": [{"kernel": "copy", "grid": ["ceildiv(M*K,256)"], "block": [256], "args": ["A", "H", "M*K"]},
               {"kernel": "product", "grid": ["ceildiv(N,16)", "ceildiv(M,16)", 4], "block": [16, 16], "args": ["H", "B", "C", "P", "M", "N", "K"]}] } */
__global__ void copy(const float* A, float* H, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) H[i] = A[i];
}
__global__ void product(const float* A, const float* B, float* C, float* P, int M, int N, int K) {
  __shared__ bool last;
  int tiles = (N + 15) / 16, tile_x = blockIdx.x, tile_y = blockIdx.y, part = blockIdx.z;
  int row = tile_y * 16 + threadIdx.y, col = tile_x * 16 + threadIdx.x;
  bool inside = row < M && col < N;
  int length = (K + 3) / 4, first = part * length, end = min(first + length, K);
  float sum = 0;
  if (inside) {
    for (int k = first; k < end; ++k) sum += A[row * K + k] * B[k * N + col];
    P[((size_t)part * M + row) * N + col] = sum;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) last = atomicInc(&ended[tile_y * tiles + tile_x], 3) == 3;
  __syncthreads();
  if (!last) return;
  __threadfence();
  if (!inside) return;
  sum = 0;
  for (int p = 0; p < 4; ++p) sum += P[((size_t)p * M + row) * N + col];
  C[row * N + col] = sum;
}
