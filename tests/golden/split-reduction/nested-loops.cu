/* hone
{ "name": "nested_loops",
  "sizes": {"P": 1024, "H": 32, "W": 64},
  "check_sizes": [{"P": 1024, "H": 32, "W": 64}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["P", "H", "W"]},
    {"name": "y", "type": "f32", "shape": ["P"], "role": "out"}],
  "launches": [
    {"kernel": "plane_mean", "grid": ["ceildiv(P,128)"], "block": [128], "args": ["x", "y", "P", "H", "W"]}] }
*/
__global__ void plane_mean(const float* x, float* y, int planes, int height, int width) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= planes) return;
  float sum = 0.0f;
  for (int h = 0; h < height; ++h)
    for (int w = 0; w < width; ++w) sum += x[(p * height + h) * width + w];
  y[p] = sum / (height * width);
}
