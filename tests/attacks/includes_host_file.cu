// A file of the host through the compiler's log.
// task: scale
// verdict: compile_error
#include "/etc/passwd"
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
