/* hone {"name": "attacked_shifted_sum", "sizes": {"N": 65536}, "check_sizes": [{"N": 1000}, {"N": 77}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "shifted_sum", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]}]} */
__global__ void shifted_sum(const float* x, float* y, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] + 1 + (threadIdx.x >= 32 ? x[i - 32] + 1 : 0);
}
