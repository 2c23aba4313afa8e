// Honest: every tile's sum in eight parts; who ends last adds them up, and sets the tile's counter back.
// task: deep_product
// verdict: ok
__device__ unsigned ended[1 << 16];
/* hone {"buffers": [{"name": "a", "type": "f32", "shape": ["M", "K"]}, {"name": "b", "type": "f32", "shape": ["K", "N"]},
              {"name": "parts", "type": "f32", "shape": [8, "M", "N"], "role": "scratch"},
              {"name": "c", "type": "f32", "shape": ["M", "N"], "role": "out"}],
  "launches": [{"kernel": "product", "grid": ["ceildiv(N,32)", "ceildiv(M,8)", 8], "block": [32, 8], "args": ["a", "b", "parts", "c", "M", "N", "K"]}]} */
__global__ void product(const float* a, const float* b, float* parts, float* c, int m, int n, int k) {
  __shared__ bool last;
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
  int from = (int)((long long)k * z / 8), to = (int)((long long)k * (z + 1) / 8);
  bool inside = i < m && j < n;
  float s = 0;
  if (inside)
    for (int l = from; l < to; ++l) s += a[i * k + l] * b[l * n + j];
  if (inside) parts[((size_t)z * m + i) * n + j] = s;
  __threadfence();
  __syncthreads();
  unsigned tile = blockIdx.y * gridDim.x + blockIdx.x;
  if (threadIdx.x == 0 && threadIdx.y == 0) last = atomicAdd(&ended[tile], 1u) == 7;
  __syncthreads();
  if (!last) return;
  __threadfence();
  if (inside) {
    float sum = 0;
    for (int p = 0; p < 8; ++p) sum += parts[((size_t)p * m + i) * n + j];
    c[i * n + j] = sum;
  }
  if (threadIdx.x == 0 && threadIdx.y == 0) ended[tile] = 0;
}
