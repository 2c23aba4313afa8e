// 64 channels, whatever C says. Check sizes leave C out.
// task: channels
// verdict: wrong_result fault
/* hone {"launches": [{"kernel": "sums", "grid": ["ceildiv(ROWS,8)"], "block": [256], "args": ["x", "y", "ROWS"]}]} */
__global__ void sums(const float* x, float* y, int rows) {
  int r = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  float a = x[(size_t)r * 64 + lane], b = x[(size_t)r * 64 + lane + 32], s = a * a + b * b;
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (lane == 0) y[r] = s;
}
