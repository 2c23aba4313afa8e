// Cost: all threads of a block add to one word of shared memory by a loop of compare-and-swaps of
// their own.
// task: block_totals
// verdict: ok
// speedup: at most 0.06
__global__ void totals(const float* x, float* y, int c) {
  __shared__ unsigned total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  float s = 0;
  for (int k = 0; k < c; ++k) s += x[((size_t)blockIdx.x * c + k) * 256 + threadIdx.x];
  unsigned old = *(volatile unsigned*)&total, seen;
  do {
    seen = old;
    old = atomicCAS(&total, seen, __float_as_uint(__uint_as_float(seen) + s));
  } while (old != seen);
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = __uint_as_float(total);
}
