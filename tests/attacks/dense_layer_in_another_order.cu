// Honest: four sums, added at the end.
// task: dense_layer
// verdict: ok
__global__ void dense(const float* x, const float* w, float* y, int m, int n, int k) {
  __shared__ float a[16][17], b[16][17];
  int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y, jb = blockIdx.x * 16 + threadIdx.y;
  float s[4] = {};
  for (int c = 0; c < k; c += 16) {
    a[threadIdx.y][threadIdx.x] = i < m && c + threadIdx.x < k ? x[i * k + c + threadIdx.x] : 0;
    b[threadIdx.y][threadIdx.x] = jb < n && c + threadIdx.x < k ? w[jb * k + c + threadIdx.x] : 0;
    __syncthreads();
#pragma unroll
    for (int u = 0; u < 16; ++u) s[u % 4] += a[threadIdx.y][u] * b[threadIdx.x][u];
    __syncthreads();
  }
  if (i < m && j < n) y[i * n + j] = s[0] + s[1] + (s[2] + s[3]);
}
