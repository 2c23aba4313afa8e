/* hone {"name": "attacked_nearby_bins", "sizes": {"N": 131072}, "check_sizes": [{"N": 300}, {"N": 517}], "buffers": [{"name": "a", "type": "i32", "shape": ["N"], "fill": {"integers": [0, 2147483647]}}, {"name": "y", "type": "i32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "nearby_bins", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["a", "y", "N"]}]} */
// How often the most frequent of 16 values comes among 64.
__global__ void nearby_bins(const int* a, int* y, int n) {
  __shared__ unsigned char bins[16][128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int b = 0; b < 16; ++b) bins[b][threadIdx.x] = 0;
  if (i >= n) return;
  unsigned x = a[i];
  for (int r = 0; r < 64; ++r) {
    ++bins[x >> 20 & 15][threadIdx.x];
    x = x * 1664525u + 1013904223u;
  }
  int most = 0;
  for (int b = 0; b < 16; ++b) most = max(most, (int)bins[b][threadIdx.x]);
  y[i] = most;
}
