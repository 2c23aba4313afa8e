/* hone
{ "name": "reference_local",
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

__global__ void sums(const float* a, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float total = 0;
  float& same = total;
  for (int c = 0; c < cols; ++c) same += a[r * cols + c] * a[r * cols + c];
  y[r] = sqrtf(total);
}
