// Doubles in place what another warp may not have written yet.
// task: shifted_sum
// verdict: race wrong_result uninitialised fault
__global__ void shifted_sum(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x;
  int other = lane < 32 ? i + 32 : i;
  if (other < n) y[other] = x[other] + 1;
  if (lane >= 32 && i < n) y[i] += x[i - 32] + 1;
  else if (i < n) y[i] = x[i] + 1;
}
