/* hone
{ "name": "do_while_sum",
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
  float sum = 0;
  int c = 0;
  do {
    sum += a[r * cols + c];
    ++c;
  } while (c < cols);
  y[r] = sum;
}
