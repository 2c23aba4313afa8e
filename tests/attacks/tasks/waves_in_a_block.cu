/* hone {"name": "attacked_waves_in_a_block", "sizes": {"N": 67584, "R": 128}, "check_sizes": [{"N": 2048, "R": 20}, {"N": 1024, "R": 33}], "constraints": ["N % 512 == 0"],
  "buffers": [{"name": "x", "type": "u32", "shape": ["N"], "fill": {"integers": [0, 4294967295]}}, {"name": "y", "type": "u32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "waves", "grid": ["N/512"], "block": [512], "args": ["x", "y", "R"]}]} */
__global__ void waves(const unsigned* x, unsigned* y, int r) {
  __shared__ unsigned s[2][512];
  int t = threadIdx.x, i = blockIdx.x * 512 + t;
  s[0][t] = x[i];
  __syncthreads();
  for (int j = 0; j < r; ++j) {
    s[(j + 1) % 2][t] = s[j % 2][t] * 5u + s[j % 2][(t + 31) % 512];
    __syncthreads();
  }
  y[i] = s[r % 2][t];
}
