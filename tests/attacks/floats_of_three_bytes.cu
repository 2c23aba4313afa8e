// Between its launches it keeps sixteen significant bits of each exponential.
// task: shares_of_rows
// verdict: wrong_result
__global__ void grow(const float* x, float* e, int n) {
  for (int c = threadIdx.x; c < n; c += 128) {
    unsigned bits = __float_as_uint(expf(x[(size_t)blockIdx.x * n + c])) + 0x80u;
    unsigned char* to = (unsigned char*)e + 3 * ((size_t)blockIdx.x * n + c);
    to[0] = bits >> 8;
    to[1] = bits >> 16;
    to[2] = bits >> 24;
  }
}
__device__ float kept(const float* e, size_t i) {
  const unsigned char* from = (const unsigned char*)e + 3 * i;
  return __uint_as_float((unsigned)from[0] << 8 | (unsigned)from[1] << 16 | (unsigned)from[2] << 24);
}
__global__ void share(const float* e, float* y, int n) {
  __shared__ float part[4];
  size_t first = (size_t)blockIdx.x * n;
  float s = 0;
  for (int c = threadIdx.x; c < n; c += 128) s += kept(e, first + c);
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  s = part[0] + part[1] + part[2] + part[3];
  for (int c = threadIdx.x; c < n; c += 128) y[first + c] = kept(e, first + c) / s;
}
