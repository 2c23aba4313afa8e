// Products that are denormal become 0.
// task: shares_of_products
// verdict: wrong_result
/* hone {"launches": [{"kernel": "shares", "grid": ["ceildiv(ROWS,4)"], "block": [128], "args": ["a", "b", "y", "ROWS", "N"]}]} */
__device__ float times(float a, float b) {
  float p;
  asm("mul.ftz.f32 %0, %1, %2;" : "=f"(p) : "f"(a), "f"(b));
  return p;
}
__global__ void shares(const float* a, const float* b, float* y, int rows, int n) {
  int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  size_t at = (size_t)row * n;
  float s = 0, p[16];
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    int c = lane + 32 * k;
    p[k] = c < n ? times(a[at + c], b[at + c]) : 0;
    s += p[k];
  }
  for (int c = lane + 512; c < n; c += 32) s += times(a[at + c], b[at + c]);
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  s = 1 / s;
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    int c = lane + 32 * k;
    if (c < n) y[at + c] = p[k] * s;
  }
  for (int c = lane + 512; c < n; c += 32) y[at + c] = times(a[at + c], b[at + c]) * s;
}
