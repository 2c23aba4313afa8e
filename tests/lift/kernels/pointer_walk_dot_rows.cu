/* hone
{ "name": "pointer_walk_dot_rows",
  "sizes": {"M": 4096, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["M", "N"]},
    {"name": "b", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "dots", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["a", "b", "y", "M", "N"]} ] }
*/
// lift: yes

__global__ void dots(const float* a, const float* b, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* p = a + r * cols;
  const float* q = b + r * cols;
  const float* end = p + cols;
  float total = 0;
  while (p != end) total += *p++ * *q++;
  y[r] = total;
}
