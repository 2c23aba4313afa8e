/* hone {"name": "attacked_dead_pass", "sizes": {"N": 16777216}, "check_sizes": [{"N": 1000}, {"N": 513}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "extra", "type": "f32", "shape": ["4*N"]},
              {"name": "mixed", "type": "f32", "shape": ["N"], "role": "scratch"},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "mix", "grid": ["ceildiv(N, 256)"], "block": [256], "args": ["extra", "mixed", "N"]},
               {"kernel": "twice", "grid": ["ceildiv(N, 256)"], "block": [256], "args": ["x", "y", "N"]}]} */
// The first launch leaves what nothing reads.
__global__ void mix(const float* extra, float* mixed, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) mixed[i] = extra[i] + extra[n + i] + extra[2 * n + i] + extra[3 * n + i];
}
__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
