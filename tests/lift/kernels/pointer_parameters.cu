/* hone
{ "name": "pointer_parameters",
  "sizes": {"M": 4096, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "sums", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["a", "y", "M", "N"]} ] }
*/
// lift: yes

__device__ void accumulate(float* into, const float* row, int n) {
  for (int c = 0; c < n; ++c) *into += row[c];
}

__global__ void sums(const float* a, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float total = 1;
  accumulate(&total, a + r * cols, cols);
  y[r] = total;
}
