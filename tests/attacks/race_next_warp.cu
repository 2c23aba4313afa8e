// The second warp reads in global memory what the first wrote, with no barrier between.
// task: shifted_sum
// verdict: race wrong_result uninitialised fault
__global__ void shifted_sum(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] + 1;
  if (threadIdx.x >= 32) y[i] += y[i - 32];
}
