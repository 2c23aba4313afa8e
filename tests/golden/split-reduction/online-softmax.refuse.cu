// The maximum rescales the sum: both are carried from one iteration to the next.
/* hone
{ "name": "online_softmax",
  "sizes": {"R": 1024, "C": 512},
  "check_sizes": [{"R": 1024, "C": 512}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["R", "C"]},
    {"name": "y", "type": "f32", "shape": ["R"], "role": "out"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(R,64)"], "block": [64], "args": ["x", "y", "R", "C"]}] }
*/
__global__ void k(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float m = -1e30f, d = 0.0f;
  for (int i = 0; i < cols; ++i) {
    float v = x[row * cols + i];
    float next = fmaxf(m, v);
    d = d * expf(m - next) + expf(v - next);
    m = next;
  }
  y[row] = m + logf(d);
}
