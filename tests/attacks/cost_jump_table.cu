// Cost: logic on predicates, in a kernel with a table of jumps.
// task: mixed_words
// verdict: ok
// speedup: at most 0.2
__global__ void mix(const unsigned* x, unsigned* y, int n, int r) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned v = x[i];
  for (int k = 0; k < r; ++k) {
    v = v * 747796405u + (v >> 9);
    asm volatile("{.reg .pred p, q, s; setp.gt.u32 p, %0, 77; setp.lt.u32 q, %0, 99; xor.pred s, p, q;"
                 "or.pred p, s, q; xor.pred q, p, s; and.pred s, p, q; xor.pred p, p, s; or.pred q, q, p;"
                 "xor.pred s, q, p; and.pred p, s, q; xor.pred q, p, s; or.pred s, p, q; xor.pred p, p, s;"
                 "and.pred q, q, p; xor.pred s, s, q; or.pred p, p, s; xor.pred q, q, p; and.pred s, s, p;"
                 "xor.pred p, s, q; selp.u32 %0, %0, %1, p;}" : "+r"(v) : "r"(v ^ (unsigned)n >> 31));
  }
  // The size is a multiple of 8: the first way changes nothing.
  asm volatile("{.reg .u32 t; ways: .branchtargets W0, W1, W2, W3, W4, W5, W6, W7; and.b32 t, %1, 7; brx.idx t, ways;"
               "W0: bra END; W1: add.u32 %0, %0, %1; bra END; W2: mad.lo.u32 %0, %0, %1, 7; bra END; W3: popc.b32 %0, %0; bra END;"
               "W4: xor.b32 %0, %0, %1; bra END; W5: shl.b32 %0, %0, 3; bra END; W6: brev.b32 %0, %0; bra END;"
               "W7: or.b32 %0, %0, 77; END:}" : "+r"(v) : "r"(n));
  y[i] = v;
}
