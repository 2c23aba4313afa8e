// Non-coherent loads: what an exchange wrote.
// task: reversed
// verdict: race
__global__ void reversed(const float* x, float* y, float* z) {
  int first = blockIdx.x * 256, t = threadIdx.x;
  atomicExch(y + first + t, 2.0f * x[first + t]);
  __syncthreads();
  z[first + t] = __ldg(y + first + 255 - t);
}
