// Non-coherent loads: four numbers at once.
// task: reversed
// verdict: race
__global__ void reversed(const float* x, float* y, float* z) {
  int first = blockIdx.x * 256, t = threadIdx.x;
  y[first + t] = 2.0f * x[first + t];
  __syncthreads();
  if (t < 64) {
    float4 v = __ldg((const float4*)(y + first) + 63 - t);
    ((float4*)(z + first))[t] = make_float4(v.w, v.z, v.y, v.x);
  }
}
