// Honest: in double, whose squares have room.
// task: lengths
// verdict: ok
__global__ void lengths(const float* a, const float* b, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = (float)sqrt((double)a[i] * a[i] + (double)b[i] * b[i]);
}
