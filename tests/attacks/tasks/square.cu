/* hone {"name": "attacked_square", "sizes": {"N": 65536}, "check_sizes": [{"N": 1000}, {"N": 77}], "specialize": false,
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "square", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "y", "N"]}]} */
__global__ void square(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i];
}
