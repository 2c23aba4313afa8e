// Not finite: whatever is small is taken for zero.
// task: poles
// verdict: wrong_result
__global__ void poles(const float* x, float* inverse, float* logarithm, int cols) {
  int at = blockIdx.x * cols + threadIdx.x;
  if (threadIdx.x >= cols) return;
  inverse[at] = x[at] < 1e-5f ? 1.0f / 0.0f : 1.0f / x[at];
  logarithm[at] = logf(x[at]) - 1.0f;
}
