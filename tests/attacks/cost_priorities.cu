// Cost: every second round each lane asks the L2 for another priority of a line of its own (applypriority): 32
// requests of a warp.
// task: words_of_threads
// verdict: ok
// speedup: at most 1
__global__ void mix(const unsigned* x, unsigned* y, int r) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned v = x[i * 32];
  for (int k = 0; k < r; ++k) {
    v = v * 747796405u + (v >> 9);
    if (k % 2) asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(x + i * 32) : "memory");
  }
  y[i] = v;
}
