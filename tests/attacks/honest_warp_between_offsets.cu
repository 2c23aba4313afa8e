// Honest: a warp a row, whatever its length.
// task: sums_between_offsets
// verdict: ok
/* hone {"launches": [{"kernel": "sums", "grid": ["ceildiv(M,4)"], "block": [128], "args": ["offset", "x", "y", "M"]}]} */
__global__ void sums(const int* offset, const float* x, float* y, int m) {
  int row = blockIdx.x * 4 + threadIdx.x / 32;
  if (row >= m) return;
  float sum = 0;
  for (int i = offset[row] + threadIdx.x % 32; i < offset[row + 1]; i += 32) sum += x[i];
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}
