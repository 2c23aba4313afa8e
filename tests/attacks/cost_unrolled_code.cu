// Cost: all steps written out, for two warps an SM: the code does not fit the instruction caches.
// task: keyed_words
// verdict: ok
// speedup: at most 0.8
__global__ void keyed(const unsigned* x, unsigned* y, int r) {
  int i = blockIdx.x * 64 + threadIdx.x;
  unsigned a = x[i], b = a ^ 77;
#pragma unroll 1
  for (int q = 0; q < r; ++q)
#pragma unroll
    for (unsigned k = 0; k < 2048; ++k) {
      a = a * (k * 40503u | 1u) + (b >> 3), b = b * 5u + (a >> 9) + k;
      if (k % 64 == 0) asm volatile("" : "+r"(a), "+r"(b));  // the compiler's recursion ends here
    }
  y[i] = a + b;
}
