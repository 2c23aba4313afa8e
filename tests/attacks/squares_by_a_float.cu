// The root by a float, put right where it is too large and not where it is too small.
// task: squares_among_words
// verdict: wrong_result
__global__ void squares(const unsigned* x, unsigned* y, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  unsigned v = x[i], r = (unsigned)min(65535.0f, __fsqrt_rd(__uint2float_rd(v)));
  y[i] = v - r * r;
}
