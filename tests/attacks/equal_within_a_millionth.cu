// Numbers that are less than a millionth apart are the same to it.
// task: which_is_larger
// verdict: wrong_result
__global__ void which(const float* a, const float* b, int* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  float d = a[i] - b[i];
  y[i] = fabsf(d) <= 2e-7f * fabsf(a[i]) ? 0 : d > 0 ? 1 : -1;
}
