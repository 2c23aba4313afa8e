// A floating sum would change its order, and the task asks for exact math.
/* hone
{ "name": "exact_math",
  "sizes": {"R": 1024, "C": 512},
  "check_sizes": [{"R": 1024, "C": 512}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["R", "C"]},
    {"name": "y", "type": "f32", "shape": ["R"], "role": "out"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(R,64)"], "block": [64], "args": ["x", "y", "R", "C"]}],
  "math": "exact" }
*/
__global__ void k(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float s = 0.0f;
  for (int i = 0; i < cols; ++i) s += x[row * cols + i];
  y[row] = s;
}
