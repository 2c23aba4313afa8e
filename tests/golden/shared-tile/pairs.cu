/* hone
{"name": "n", "sizes": {"N": 1024}, "check_sizes": [{"N": 101}], "buffers": [{"name": "p", "type": "f32", "shape": ["N", 2], "fill": {"uniform": [-1, 1]}}, {"name": "f", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "forces", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["p", "f", "N"]}]}
*/
__global__ void forces(const float* p, float* f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = p[2 * i], y = p[2 * i + 1], sum = 0.0f;
  for (int j = 0; j < n; j++) {
    float dx = p[2 * j] - x, dy = p[2 * j + 1] - y;
    sum += dx * dx + dy * dy;
  }
  f[i] = sum;
}
