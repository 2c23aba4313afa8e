// Quotients by floats, put right once: where the dividend is large and the divisor small, they are off by two.
// task: quotients
// verdict: wrong_result
__global__ void quotients(const int* a, const int* b, int* q, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  int x = a[i], y = b[i], w = (int)((float)x * __frcp_rn((float)y)), r = x - w * y;
  if (r < 0) --w;
  else if (r >= y) ++w;
  q[i] = w;
}
