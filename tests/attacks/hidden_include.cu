// The same with the name put together by macros.
// task: scale
// verdict: compile_error
#define TEXT(x) #x
#define NAME(a, b) TEXT(/etc/a##b)
#include NAME(pass, wd)
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
