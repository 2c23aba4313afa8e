// Non-coherent loads: the instruction itself.
// task: reversed
// verdict: race
__global__ void reversed(const float* x, float* y, float* z) {
  int first = blockIdx.x * 256, t = threadIdx.x;
  y[first + t] = 2.0f * x[first + t];
  __syncthreads();
  float v;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(y + first + 255 - t));
  z[first + t] = v;
}
