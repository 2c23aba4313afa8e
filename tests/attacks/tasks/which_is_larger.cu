/* hone {"name": "attacked_which_is_larger", "sizes": {"N": 262144}, "check_sizes": [{"N": 300}, {"N": 517}],
  "buffers": [{"name": "a", "type": "f32", "shape": ["N"], "fill": {"uniform": [-10, 10]}}, {"name": "b", "type": "f32", "shape": ["N"], "fill": {"uniform": [-10, 10]}},
              {"name": "y", "type": "i32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "which", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["a", "b", "y", "N"]}]} */
__global__ void which(const float* a, const float* b, int* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = a[i] > b[i] ? 1 : a[i] < b[i] ? -1 : 0;
}
