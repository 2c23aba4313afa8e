// Cost: every 512 rounds a sleep.
// task: mixed_words
// verdict: ok
// speedup: at most 0.5
__global__ void mix(const unsigned* x, unsigned* y, int n, int r) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned v = x[i];
  for (int k = 0; k < r; ++k) {
    if (k % 512 == 0) __nanosleep(8000);
    v = v * 747796405u + (v >> 9);
  }
  y[i] = v;
}
