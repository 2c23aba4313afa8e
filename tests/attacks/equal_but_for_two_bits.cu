// Numbers of which only the last two bits differ are the same to it.
// task: which_is_larger
// verdict: wrong_result
__global__ void which(const float* a, const float* b, int* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  float u = __uint_as_float(__float_as_uint(a[i]) & ~3u), v = __uint_as_float(__float_as_uint(b[i]) & ~3u);
  y[i] = u > v ? 1 : u < v ? -1 : 0;
}
