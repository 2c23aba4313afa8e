/* hone
{ "name": "welford_columns_normalised",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"], "fill": {"uniform": [2, 5]}},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "norm", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "M", "N"]} ] }
*/
// lift: yes

// Batch norm: statistics of a column by Welford, the number of rows so far as a float.
__global__ void norm(const float* x, float* y, int rows, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  float n = 0.f, mean = 0.f, s = 0.f;
  for (int r = 0; r < rows; ++r) {
    const float v = x[r * cols + c];
    n += 1.f;
    const float old = mean;
    mean += (v - mean) / n;
    s += (v - old) * (v - mean);
  }
  const float inv = 1.f / sqrtf(s / n + 1e-3f);
  for (int r = 0; r < rows; ++r) y[r * cols + c] = (x[r * cols + c] - mean) * inv;
}
