// The same with the rounds unrolled.
// task: bytes_below
// verdict: ok
// H200 [us]: 24.6
__global__ void below(const int* a, const int* b, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned p = a[i], q = b[i], all = 0;
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    unsigned d = (p | 0x80808080u) - (q & 0x7f7f7f7fu);
    unsigned less = (~p & q) | (~(p ^ q) & ~d);
    unsigned ones = (less & 0x80808080u) >> 7;
    all += ones;
    p = p * 5 + ones + r;
  }
  y[i] = (int)all;
}
