/* hone
{ "name": "continue_skips",
  "sizes": {"M": 4096, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "positive", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["a", "y", "M", "N"]} ] }
*/
// lift: yes

__global__ void positive(const float* a, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = a + (long long)r * cols;
  float sum = 0;
  for (int c = 0; c < cols; ++c) {
    if (c % 3 == 1) continue;
    float v = row[c];
    if (v <= 0.0f) continue;
    sum += v;
  }
  y[r] = sum;
}
