// All rows are as long as the first.
// task: sums_between_offsets
// verdict: wrong_result fault
__global__ void sums(const int* offset, const float* x, float* y, int m) {
  int row = blockIdx.x * 64 + threadIdx.x, many = offset[1] - offset[0];
  if (row >= m) return;
  float sum = 0;
  for (int i = 0; i < many; ++i) sum += x[(size_t)row * many + i];
  y[row] = sum;
}
