// Cost: every 16 rounds a fence of the whole GPU.
// task: mixed_words
// verdict: ok
// speedup: at most 0.5
__global__ void mix(const unsigned* x, unsigned* y, int n, int r) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned v = x[i];
  for (int first = 0; first < r; first += 16) {
    for (int k = 0; k < 16; ++k) v = v * 747796405u + (v >> 9);
    y[i] = v;
    __threadfence();
  }
}
