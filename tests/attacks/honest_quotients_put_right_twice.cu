// Honest: quotients by floats, of which the rest is divided again before they are put right.
// task: quotients
// verdict: ok
__global__ void quotients(const int* a, const int* b, int* q, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  int x = a[i], y = b[i];
  float by = __frcp_rn((float)y);
  int w = (int)((float)x * by), r = x - w * y;
  w += (int)((float)r * by);
  r = x - w * y;
  if (r < 0) --w;
  else if (r >= y) ++w;
  q[i] = w;
}
