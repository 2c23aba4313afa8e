// Cost: every 32 rounds a barrier of eight blocks.
// task: mixed_words
// verdict: ok
// speedup: at most 0.85
/* hone {"launches": [{"kernel": "mix", "grid": ["N/64"], "block": [64], "args": ["x", "y", "N", "R"]}]} */
__global__ void __cluster_dims__(8, 1, 1) mix(const unsigned* x, unsigned* y, int n, int r) {
  int i = blockIdx.x * 64 + threadIdx.x;
  unsigned v = x[i];
  for (int first = 0; first < r; first += 32) {
    for (int k = 0; k < 32; ++k) v = v * 747796405u + (v >> 9);
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  }
  y[i] = v;
}
