// Cost, an honest one: match.any in place of three ballots.
// task: same_in_warp
// verdict: ok
// H200 [us]: 16.9
__global__ void same_in_warp(const int* a, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = a[i], all = 0;
#pragma unroll
  for (int r = 0; r < 16; ++r) {
    unsigned same = __match_any_sync(0xffffffff, x);
    all += same;
    x = (x * 5 + (same & 3)) & 7;
  }
  y[i] = (int)all;
}
