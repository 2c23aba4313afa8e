// A video instruction: one of PTX, thirty of the machine.
// task: bytes_below
// verdict: ok
// H200 [us]: 61.7
// speedup: at most 1.05
__global__ void below(const int* a, const int* b, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned p = a[i], q = b[i], all = 0;
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    unsigned ones;
    asm("vset4.u32.u32.lt %0, %1, %2, %3;" : "=r"(ones) : "r"(p), "r"(q), "r"(0));
    all += ones;
    p = p * 5 + ones + r;
  }
  y[i] = (int)all;
}
