// Honest: the task says that the matrix is lower triangular, so the half above the diagonal is not read.
// task: triangular_product
// verdict: ok
// H200 [us]: 60.8
__global__ void product(const float* L, const float* x, float* y, int n) {
  float s = 0;
  for (int c = threadIdx.x; c <= blockIdx.x; c += 32) s += L[(size_t)blockIdx.x * n + c] * x[c];
  for (int step = 16; step > 0; step /= 2) s += __shfl_down_sync(0xffffffffu, s, step);
  if (threadIdx.x == 0) y[blockIdx.x] = s;
}
