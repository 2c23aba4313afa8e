// Each element is where it is numbered, so the numbers are not read.
// task: delayed
// verdict: wrong_result
__global__ void delay_by(const float* x, const int* delay, const int* at, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] + (i >= delay[0] ? 0.5f * x[i - delay[0]] : 0.0f);
}
