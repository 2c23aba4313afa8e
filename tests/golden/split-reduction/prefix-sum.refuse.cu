// The running sum is read in every iteration.
/* hone
{ "name": "prefix_sum",
  "sizes": {"R": 1024, "C": 512},
  "check_sizes": [{"R": 1024, "C": 512}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["R", "C"]},
    {"name": "y", "type": "f32", "shape": ["R", "C"], "role": "out"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(R,64)"], "block": [64], "args": ["x", "y", "R", "C"]}] }
*/
__global__ void k(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float s = 0.0f;
  for (int i = 0; i < cols; ++i) {
    s += x[row * cols + i];
    y[row * cols + i] = s;
  }
}
