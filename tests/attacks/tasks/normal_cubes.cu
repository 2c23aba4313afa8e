/* hone {"name": "attacked_normal_cubes", "sizes": {"N": 4000000}, "check_sizes": [{"N": 1000}, {"N": 257}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"normal": [0, 1]}},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "cubes", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "y", "N"]}]} */
__global__ void cubes(const float* x, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = v * v * v;
}
