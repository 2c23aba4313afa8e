// Not finite, an honest twin: the same infinities by other means.
// task: poles
// verdict: ok
__global__ void poles(const float* x, float* inverse, float* logarithm, int cols) {
  int at = blockIdx.x * cols + threadIdx.x;
  if (threadIdx.x >= cols) return;
  inverse[at] = __frcp_rn(x[at]);
  logarithm[at] = 0.69314718f * log2f(x[at]) - 1.0f;
}
