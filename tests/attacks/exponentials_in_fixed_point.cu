// Between its launches each exponential, which is between 1 and 3, is a fraction of sixteen bits.
// task: shares_of_rows
// verdict: wrong_result
__global__ void grow(const float* x, float* e, int n) {
  unsigned short* to = (unsigned short*)e + (size_t)blockIdx.x * n;
  for (int c = threadIdx.x; c < n; c += 128) {
    float v = expf(x[(size_t)blockIdx.x * n + c]);
    to[c] = (unsigned short)__float2uint_rn((v - 1.0f) * 32768.0f);
  }
}
__global__ void share(const float* e, float* y, int n) {
  __shared__ float part[4];
  const unsigned short* from = (const unsigned short*)e + (size_t)blockIdx.x * n;
  y += (size_t)blockIdx.x * n;
  float s = 0;
  for (int c = threadIdx.x; c < n; c += 128) s += 1.0f + from[c] * 0x1p-15f;
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  s = part[0] + part[1] + part[2] + part[3];
  for (int c = threadIdx.x; c < n; c += 128) y[c] = (1.0f + from[c] * 0x1p-15f) / s;
}
