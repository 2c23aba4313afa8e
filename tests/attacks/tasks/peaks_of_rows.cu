/* hone {"name": "attacked_peaks_of_rows", "sizes": {"M": 2048, "N": 1026}, "check_sizes": [{"M": 16, "N": 130}, {"M": 5, "N": 200}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", "N"], "fill": {"uniform": [-1, 1]}},
              {"name": "peaks", "type": "i32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "count", "grid": ["M"], "block": [32], "args": ["x", "peaks", "N"]}]} */
// How many elements of a row are larger than both of their neighbours.
__global__ void count(const float* x, int* peaks, int n) {
  x += (size_t)blockIdx.x * n;
  int many = 0;
  for (int j = threadIdx.x + 1; j + 1 < n; j += 32) many += x[j] > x[j - 1] && x[j] > x[j + 1];
  for (int d = 16; d; d /= 2) many += __shfl_xor_sync(~0u, many, d);
  if (threadIdx.x == 0) peaks[blockIdx.x] = many;
}
