/* hone
{"name": "e", "sizes": {"N": 10000}, "check_sizes": [{"N": 333}], "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [-1, 1]}}, {"name": "s", "type": "f32", "shape": [1], "fill": {"uniform": [-1, 1]}}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "scale", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "s", "y", "N"]}]}
*/
__global__ void scale(const float* x, const float* s, float* y, int n) {
  const int tx = threadIdx.x;
  const int i = tx + blockIdx.x * blockDim.x;
  const float factor = s[0];
  if (i >= n) return;
  float v = x[i];
  if (v < 0.f) v = v * factor;
  y[i] = v + x[i];
}
