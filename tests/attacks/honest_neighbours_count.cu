// Twelve neighbouring blocks share a tile; the last of them to end adds their parts.
// task: long_products
// verdict: ok
/* hone {"buffers": [{"name": "A", "type": "f32", "shape": ["K", "M"]}, {"name": "B", "type": "f32", "shape": ["K", "N"]},
              {"name": "P", "type": "f32", "shape": [12, "M", "N"], "role": "scratch"},
              {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"}],
   "launches": [{"kernel": "product", "grid": ["12*ceildiv(N,32)", "ceildiv(M,8)"], "block": [32, 8], "args": ["A", "B", "P", "C", "M", "N", "K"]}]} */
__device__ unsigned ended[4096];
__global__ void product(const float* A, const float* B, float* P, float* C, int M, int N, int K) {
  __shared__ unsigned before;
  int tile = blockIdx.x / 12, part = blockIdx.x % 12;
  int j = tile * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  int each = (K + 11) / 12, end = min(K, (part + 1) * each);
  if (i < M && j < N) {
    float s = 0;
    for (int k = part * each; k < end; ++k) s += A[(size_t)k * M + i] * B[(size_t)k * N + j];
    ((volatile float*)P)[(part * M + i) * N + j] = s;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x + threadIdx.y == 0) before = atomicInc(&ended[blockIdx.y * (gridDim.x / 12) + tile], 11);
  __syncthreads();
  if (before != 11 || i >= M || j >= N) return;
  __threadfence();
  float s = 0;
  for (int p = 0; p < 12; ++p) s += ((volatile float*)P)[(p * M + i) * N + j];
  C[i * N + j] = s;
}
