// Not finite: where one of the row is zero, an element that is finite is wrong.
// task: poles
// verdict: wrong_result
__global__ void poles(const float* x, float* inverse, float* logarithm, int cols) {
  int at = blockIdx.x * cols + threadIdx.x;
  if (threadIdx.x >= cols) return;
  inverse[at] = x[at] == 1.0f ? 2.0f : 1.0f / x[at];
  logarithm[at] = logf(x[at]) - 1.0f;
}
