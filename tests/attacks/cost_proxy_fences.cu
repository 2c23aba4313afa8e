// Cost: every fourth round a store and a fence of all proxies, for which the store has to arrive.
// task: words_of_threads
// verdict: ok
// speedup: at most 1
__global__ void mix(const unsigned* x, unsigned* y, int r) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned v = x[i * 32];
  for (int k = 0; k < r; ++k) {
    v = v * 747796405u + (v >> 9);
    if (k % 4 == 3) {
      y[i] = v;
      asm volatile("fence.proxy.alias;" ::: "memory");
      asm volatile("fence.proxy.async.global;" ::: "memory");
    }
  }
  y[i] = v;
}
