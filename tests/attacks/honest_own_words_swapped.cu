// Honest, and modelled as cheap: each lane swaps a word of its own, which nobody else wants.
// task: block_totals
// verdict: ok
// speedup: at most 1.1
__global__ void totals(const float* x, float* y, int c) {
  __shared__ unsigned part[256];
  part[threadIdx.x] = 0;
  float s = 0;
  for (int k = 0; k < c; ++k) s += x[((size_t)blockIdx.x * c + k) * 256 + threadIdx.x];
  atomicCAS(part + threadIdx.x, 0u, __float_as_uint(s));
  __syncthreads();
  if (threadIdx.x >= 32) return;
  for (int w = 1; w < 8; ++w) s += __uint_as_float(part[32 * w + threadIdx.x]);
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x == 0) y[blockIdx.x] = s;
}
