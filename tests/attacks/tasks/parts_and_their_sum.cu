/* hone {"name": "attacked_parts_and_their_sum", "sizes": {"N": 1048576}, "check_sizes": [{"N": 10000}, {"N": 777}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [0, 1]}}, {"name": "part", "type": "f32", "shape": [1024], "role": "scratch"}, {"name": "y", "type": "f32", "shape": [1], "role": "out"}],
  "launches": [{"kernel": "parts", "grid": [64], "block": [1], "args": ["x", "part", "N"]}, {"kernel": "all", "grid": [1], "block": [1], "args": ["part", "y"]}]} */
__global__ void parts(const float* x, float* part, int n) {
  float s = 0;
  for (int i = blockIdx.x; i < n; i += 64) s += x[i];
  part[blockIdx.x] = s;
}
__global__ void all(const float* part, float* y) { float s = 0; for (int k = 0; k < 64; ++k) s += part[k]; y[0] = s; }
