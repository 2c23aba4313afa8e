// Honest: Winograd's F(2,3), four products for two sums of three.
// task: filtered_channels
// verdict: ok
/* hone {"launches": [{"kernel": "filter", "grid": ["ceildiv(N,128)", 8], "block": [64], "args": ["x", "w", "y", "N"]}]} */
__global__ void filter(const float* x, const float* w, float* y, int n) {
  __shared__ float u[64][4][4];
  for (int t = threadIdx.x; t < 256; t += 64) {
    const float* g = w + ((blockIdx.y * 4 + t % 4) * 64 + t / 4) * 3;
    float* to = u[t / 4][t % 4];
    to[0] = g[0];
    to[1] = (g[0] + g[1] + g[2]) * 0.5f;
    to[2] = (g[0] - g[1] + g[2]) * 0.5f;
    to[3] = g[2];
  }
  __syncthreads();
  int i = (blockIdx.x * 64 + threadIdx.x) * 2;
  float m[4][4] = {};
  for (int c = 0; c < 64; ++c) {
    float d[4];
    for (int k = 0; k < 4; ++k) d[k] = i + k < n + 2 ? x[c * (n + 2) + i + k] : 0;
    float v[4] = {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]};
    for (int r = 0; r < 4; ++r)
      for (int k = 0; k < 4; ++k) m[r][k] += u[c][r][k] * v[k];
  }
  for (int r = 0; r < 4; ++r) {
    float* a = m[r];
    float out[2] = {a[0] + a[1] + a[2], a[1] - a[2] - a[3]};
    for (int k = 0; k < 2; ++k)
      if (i + k < n) y[(blockIdx.y * 4 + r) * n + i + k] = out[k];
  }
}
