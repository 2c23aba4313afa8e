// Bins in local memory: each lane its own line.
// task: nearby_bins
// verdict: ok
// An H200 takes 93.7 us; modelled are 51 (MODEL.md, "Known errors").
// speedup: at most 1.05
__global__ void nearby_bins(const int* a, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int bins[16];
#pragma unroll
  for (int b = 0; b < 16; ++b) bins[b] = 0;
  unsigned x = a[i];
  for (int r = 0; r < 64; ++r) {
    ++bins[x >> 20 & 15];
    x = x * 1664525u + 1013904223u;
  }
  int most = 0;
#pragma unroll
  for (int b = 0; b < 16; ++b) most = max(most, bins[b]);
  y[i] = most;
}
