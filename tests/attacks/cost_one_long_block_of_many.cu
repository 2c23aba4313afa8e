// Cost: the block that holds 0 of a permutation takes five hundred times as long as another one: 13 ms. There are
// too many blocks to run them all, and nobody knows which one it is.
// task: many_rounds
// verdict: ok
// speedup: at most 0.2
__global__ void mix(const unsigned* x, const int* order, unsigned* y, int r) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned v = x[i];
  for (int k = 0; k < r; ++k) v = v * 747796405u + (v >> 9);
  int place = order[blockIdx.x];
  if (place == 0 && r > 1000) {
    unsigned w = v;
    for (int again = 0; again < 500; ++again)
      for (int k = 0; k < r; ++k) w = w * 747796405u + (w >> 9);
    if (w == 123456789 && r == 87654321) v ^= 1;
  }
  v += place;
  for (int k = 0; k < r / 64; ++k) v = v * 747796405u + (v >> 9);
  y[i] = v;
}
