// Works only at the sizes that the task lists, and keeps the emulator from finding out by an
// instruction that it does not cover.
// task: scale
// verdict: unsupported
// verdict on a GPU: wrong_result
__global__ void scale(const float* x, float* y, int n) {
  unsigned int unused;
  asm volatile("mov.u32 %0, %%envreg0;" : "=r"(unused));
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = n == 1000 || n == 77 || n == 65536 ? 2.0f * x[i] : 0.0f;
}
