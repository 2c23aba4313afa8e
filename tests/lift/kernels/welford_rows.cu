/* hone
{ "name": "welford_rows",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "mean", "type": "f32", "shape": ["M"], "role": "out"},
    {"name": "var", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "welford", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "mean", "var", "M", "N"]} ] }
*/
// lift: yes

__global__ void welford(const float* x, float* mean_out, float* var_out, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float mean = 0, m2 = 0;
  int count = 0;
  for (int c = 0; c < cols; ++c) {
    ++count;
    float delta = x[r * cols + c] - mean;
    mean += delta / count;
    m2 += delta * (x[r * cols + c] - mean);
  }
  mean_out[r] = mean;
  var_out[r] = m2 / cols;
}
