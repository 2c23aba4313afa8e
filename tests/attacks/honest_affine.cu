// Constant inputs, an honest twin: everything is read.
// task: affine
// verdict: ok
__global__ void affine(const float* x, const float* gain, const float* bias, const int* keep,
                       const bool* on, float* y, int cols) {
  int c = threadIdx.x, at = blockIdx.x * cols + c;
  if (c < cols) y[at] += on[blockIdx.x] ? fmaf(gain[c], keep[c] * x[at], bias[c]) : 0.0f;
}
