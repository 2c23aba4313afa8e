// Carries by votes of a warp; what comes out of the first one goes into the second, what went in does not go on.
// task: added_words
// verdict: wrong_result
__global__ void add(const unsigned* a, const unsigned* b, unsigned* sum, int w) {
  __shared__ unsigned makes[2], passes[2];
  int i = threadIdx.x;
  size_t at = (size_t)blockIdx.x * w + i;
  unsigned u = i < w ? a[at] : 0, s = u + (i < w ? b[at] : 0);
  unsigned m = __ballot_sync(~0u, s < u), p = __ballot_sync(~0u, s == ~0u);
  if (i % 32 == 0) {
    makes[i / 32] = m;
    passes[i / 32] = p;
  }
  __syncthreads();
  unsigned in = i < 32 ? 1 : makes[0] >> 31;
  unsigned known = 0, c = in;
  for (int k = 0; k < 32; ++k) {
    known |= c << k;
    c = (m >> k & 1) | (c & (p >> k & 1));
  }
  if (i < w) sum[at] = s + (known >> (i % 32) & 1);
}
