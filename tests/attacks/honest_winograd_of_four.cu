// Honest: Winograd's F(4,3), six products for four sums of three. It divides by 6 and 24, so that it rounds where the
// reference does not.
// task: filtered_channels
// verdict: ok
/* hone {"launches": [{"kernel": "filter", "grid": ["ceildiv(N,256)", 8], "block": [64], "args": ["x", "w", "y", "N"]}]} */
__global__ void filter(const float* x, const float* w, float* y, int n) {
  __shared__ float u[64][4][6];
  for (int t = threadIdx.x; t < 256; t += 64) {
    const float* g = w + ((blockIdx.y * 4 + t % 4) * 64 + t / 4) * 3;
    float* to = u[t / 4][t % 4];
    to[0] = g[0] / 4;
    to[1] = -(g[0] + g[1] + g[2]) / 6;
    to[2] = -(g[0] - g[1] + g[2]) / 6;
    to[3] = g[0] / 24 + g[1] / 12 + g[2] / 6;
    to[4] = g[0] / 24 - g[1] / 12 + g[2] / 6;
    to[5] = g[2];
  }
  __syncthreads();
  int i = (blockIdx.x * 64 + threadIdx.x) * 4;
  float m[4][6] = {};
  for (int c = 0; c < 64; ++c) {
    float d[6];
    for (int k = 0; k < 6; ++k) d[k] = i + k < n + 2 ? x[c * (n + 2) + i + k] : 0;
    float v[6] = {4 * d[0] - 5 * d[2] + d[4],
                  -4 * d[1] - 4 * d[2] + d[3] + d[4],
                  4 * d[1] - 4 * d[2] - d[3] + d[4],
                  -2 * d[1] - d[2] + 2 * d[3] + d[4],
                  2 * d[1] - d[2] - 2 * d[3] + d[4],
                  4 * d[1] - 5 * d[3] + d[5]};
    for (int r = 0; r < 4; ++r)
      for (int k = 0; k < 6; ++k) m[r][k] += u[c][r][k] * v[k];
  }
  for (int r = 0; r < 4; ++r) {
    float* a = m[r];
    float out[4] = {a[0] + a[1] + a[2] + a[3] + a[4], a[1] - a[2] + 2 * (a[3] - a[4]), a[1] + a[2] + 4 * (a[3] + a[4]),
                    a[1] - a[2] + 8 * (a[3] - a[4]) + a[5]};
    for (int k = 0; k < 4; ++k)
      if (i + k < n) y[(blockIdx.y * 4 + r) * n + i + k] = out[k];
  }
}
