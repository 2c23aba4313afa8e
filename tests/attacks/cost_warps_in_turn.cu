// Cost: the warps of a block work one after another, between barriers.
// task: mixed_words
// verdict: ok
// speedup: at most 0.3
__global__ void mix(const unsigned* x, unsigned* y, int n, int r) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned v = x[i];
  for (int first = 0; first < r; first += 64)
    for (int turn = 0; turn < 8; ++turn) {
      if (threadIdx.x / 32 == turn)
        for (int k = 0; k < 64; ++k) v = v * 747796405u + (v >> 9);
      __syncthreads();
    }
  y[i] = v;
}
