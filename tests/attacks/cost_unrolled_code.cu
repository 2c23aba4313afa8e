// Cost: all steps written out, for two warps an SM: the code does not fit the instruction caches.
// task: keyed_words
// verdict: ok
// speedup: at most 0.7
__global__ void keyed(const unsigned* x, unsigned* y, int r) {
  int i = blockIdx.x * 64 + threadIdx.x;
  unsigned a = x[i], b = a ^ 77;
#pragma unroll 1
  for (int q = 0; q < r; ++q)
#pragma unroll
    for (unsigned k = 0; k < 2048; ++k) {
      // Assembly, or the compiler's recursion along the chain has no end.
      asm volatile("{.reg .u32 t; shr.u32 t, %1, 3; mad.lo.u32 %0, %0, %2, t; shr.u32 t, %0, 9; mad.lo.u32 %1, %1, 5, t; add.u32 %1, %1, %3;}"
                   : "+r"(a), "+r"(b) : "r"(k * 40503u | 1u), "r"(k));
    }
  y[i] = a + b;
}
