// Quotients by the reciprocal of a number and a half: right up to four million; above, few are wrong.
// task: small_quotients
// verdict: wrong_result
__global__ void quotients(const int* a, const int* b, int* q, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) q[i] = (int)(((float)a[i] + 0.5f) * __frcp_rn((float)b[i]));
}
