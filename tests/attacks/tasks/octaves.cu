/* hone {"name": "attacked_octaves", "sizes": {"N": 1048576}, "check_sizes": [{"N": 700}, {"N": 1531}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [0.25, 5000]}},
              {"name": "y", "type": "i32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "octaves", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]}]} */
__global__ void octaves(const float* x, int* y, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = ilogbf(x[i]);
}
