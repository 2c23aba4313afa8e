// Not finite: what is too small for a logarithm is raised.
// task: poles
// verdict: wrong_result
__global__ void poles(const float* x, float* inverse, float* logarithm, int cols) {
  int at = blockIdx.x * cols + threadIdx.x;
  if (threadIdx.x >= cols) return;
  inverse[at] = 1.0f / x[at];
  logarithm[at] = logf(fmaxf(x[at], 1e-30f)) - 1.0f;
}
