/* hone {"name": "attacked_whole_blocks", "sizes": {"N": 1048576}, "check_sizes": [{"N": 256}, {"N": 512}], "specialize": false, "constraints": ["N % 256 == 0"],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "curve", "grid": ["N/32"], "block": [32], "args": ["x", "y"]}]} */
__global__ void curve(const float* x, float* y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  float v = x[i];
  y[i] = ((v * 0.5f + 1) * v - 0.25f) * v + 2;
}
