// Wrong at the timed size, with so many threads that the emulator might leave the comparison out.
// task: scale
// verdict: wrong_result
/* hone {"name": "attacked_scale", "sizes": {"N": 65536}, "check_sizes": [{"N": 1000}, {"N": 77}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "scale", "grid": ["ceildiv(N,256)+300"], "block": [256], "args": ["x", "y", "N"]}]} */
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = n > 40000 ? x[i] : 2.0f * x[i];
}
