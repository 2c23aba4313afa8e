/* hone
{ "name": "block_per_softmax_row",
  "sizes": {"R": 1024, "C": 512},
  "check_sizes": [{"R": 1024, "C": 512}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["R", "C"]},
    {"name": "y", "type": "f32", "shape": ["R", "C"], "role": "out"}],
  "launches": [
    {"kernel": "softmax", "grid": ["ceildiv(R,64)"], "block": [64], "args": ["x", "y", "R", "C"]}] }
*/
__global__ void softmax(const float* x, float* y, int rows, int cols) {
  const int row = threadIdx.x + blockIdx.x * blockDim.x;
  if (row >= rows) return;
  const float* in = x + row * cols;
  float* out = y + row * cols;
  float m = in[0];
  for (int c = 1; c < cols; c++) m = fmaxf(m, in[c]);
  float sum = 0.0f;
  for (int c = 0; c < cols; c++) {
    float e = expf(in[c] - m);
    out[c] = e;
    sum += e;
  }
  for (int c = 0; c < cols; c++) out[c] /= sum;
}
