// Bits as predicates, whose logic looks free in PTX.
// task: majority
// verdict: ok
// H200 [us]: 178.2
// speedup: at most 1.05
__global__ void majority(const int* a, const int* b, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = a[i] & 255, m = b[i] & 255;
  bool c[8], k[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) c[j] = x >> j & 1, k[j] = m >> j & 1;
#pragma unroll
  for (int r = 0; r < 16; ++r) {
    bool d[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) d[j] = (c[(j + 7) & 7] != (c[j] || c[(j + 1) & 7])) != k[j];
#pragma unroll
    for (int j = 0; j < 8; ++j) c[j] = d[j];
  }
  unsigned out = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) out |= (unsigned)c[j] << j;
  y[i] = (int)out;
}
