// Cost: all the work lies where a table of jumps leads that the whole warp takes.
// task: mixed_words
// verdict: ok
// speedup: at most 0.55
__global__ void mix(const unsigned* x, unsigned* y, int n, int r) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned v = x[i];
  // The size is a multiple of 8: the first way, which is the last but one in the code.
  asm volatile("{.reg .u32 t; .reg .pred p; ways: .branchtargets W0, W1, W2, W3, W4, W5, W6, W7; and.b32 t, %1, 7; brx.idx t, ways;"
               "W1: add.u32 %0, %0, %1; bra END; W2: mad.lo.u32 %0, %0, %1, 7; bra END; W3: popc.b32 %0, %0; bra END;"
               "W4: xor.b32 %0, %0, %1; bra END; W5: shl.b32 %0, %0, 3; bra END; W6: brev.b32 %0, %0; bra END;"
               "W0: mov.u32 t, 0; AGAIN: {.reg .u32 s; shr.u32 s, %0, 9; mad.lo.u32 %0, %0, 747796405, s;} add.u32 t, t, 1;"
               "setp.lt.u32 p, t, %2; @p bra AGAIN; bra END; W7: or.b32 %0, %0, 77; END:}" : "+r"(v) : "r"(n), "r"(r));
  y[i] = v;
}
