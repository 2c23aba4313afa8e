// A root by its reciprocal: of two rows that are equal it is not a number.
// task: distances_of_rows
// verdict: wrong_result
__global__ void distance(const float* a, const float* b, float* y, int n) {
  a += (size_t)blockIdx.x * n;
  b += (size_t)blockIdx.x * n;
  float sum = 0;
  for (int j = threadIdx.x; j < n; j += 32) sum += (a[j] - b[j]) * (a[j] - b[j]);
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) y[blockIdx.x] = sum * rsqrtf(sum);
}
