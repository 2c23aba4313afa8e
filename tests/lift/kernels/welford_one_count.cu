/* hone
{ "name": "welford_one_count",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "mean", "type": "f32", "shape": ["M"], "role": "out"},
    {"name": "rstd", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "stats", "grid": ["ceildiv(M,32)"], "block": [32], "args": ["x", "mean", "rstd", "N", "M"]} ] }
*/
// lift: yes

// The count is the loop's index plus one; the deviation after the update is taken first.
__global__ void stats(const float* x, float* mean, float* rstd, int cols, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float mu = 0.0f, m2 = 0.0f;
  for (int i = 0; i < cols; i++) {
    float v = x[r * cols + i];
    float d1 = v - mu;
    mu = mu + d1 / (float)(i + 1);
    float d2 = v - mu;
    m2 = fmaf(d1, d2, m2);
  }
  mean[r] = mu;
  rstd[r] = rsqrtf(m2 / cols + 1e-5f);
}
