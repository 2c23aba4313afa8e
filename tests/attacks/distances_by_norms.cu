// Distances by |x|^2 + |y|^2 - 2 x y: of points that are near one another no digit is left. The ranges of x and y
// are not quite the same.
// task: distances_between
// verdict: wrong_result
__global__ void distances(const float* x, const float* y, float* d, int m, int n) {
  __shared__ float a[16][65], b[16][65], na[16], nb[16];
  int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y, t = threadIdx.y * 16 + threadIdx.x;
  for (int k = t; k < 1024; k += 256) {
    int r = k / 64, c = k % 64;
    a[r][c] = blockIdx.y * 16 + r < m ? x[(blockIdx.y * 16 + r) * 64 + c] : 0;
    b[r][c] = blockIdx.x * 16 + r < n ? y[(blockIdx.x * 16 + r) * 64 + c] : 0;
  }
  __syncthreads();
  if (t < 32) {
    float s = 0;
    for (int c = 0; c < 64; ++c) {
      float v = t < 16 ? a[t][c] : b[t - 16][c];
      s += v * v;
    }
    (t < 16 ? na : nb)[t % 16] = s;
  }
  __syncthreads();
  if (i >= m || j >= n) return;
  float s = 0;
  for (int k = 0; k < 64; ++k) s += a[threadIdx.y][k] * b[threadIdx.x][k];
  d[i * n + j] = sqrtf(fmaxf(na[threadIdx.y] + nb[threadIdx.x] - 2 * s, 0.0f));
}
