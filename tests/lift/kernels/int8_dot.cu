/* hone
{ "name": "int8_dot",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "a", "type": "i8", "shape": ["M", "N"], "fill": {"integers": [-128, 127]}},
    {"name": "b", "type": "i8", "shape": ["N"], "fill": {"integers": [-128, 127]}},
    {"name": "y", "type": "i32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["a", "b", "y", "M", "N"]} ] }
*/
// lift: yes

__global__ void k(const signed char* a, const signed char* b, int* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  int sum = 0;
  for (int c = 0; c < cols; ++c) sum += a[r * cols + c] * b[c];
  y[r] = sum;
}
