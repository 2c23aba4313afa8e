// Non-coherent loads, an honest twin: of the input alone.
// task: reversed
// verdict: ok
__global__ void reversed(const float* x, float* y, float* z) {
  int first = blockIdx.x * 256, t = threadIdx.x;
  y[first + t] = 2.0f * __ldg(x + first + t);
  z[first + t] = 2.0f * __ldg(x + first + 255 - t);
}
