/* hone {"name": "attacked_large_scale", "sizes": {"N": 67108864}, "check_sizes": [{"N": 10000}, {"N": 77}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "scale", "grid": ["ceildiv(N,4096)"], "block": [256], "args": ["x", "y", "N"]}]} */
__global__ void scale(const float* x, float* y, int n) {
  for (int k = 0; k < 16; ++k) {
    int i = blockIdx.x * 4096 + k * 256 + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
  }
}
