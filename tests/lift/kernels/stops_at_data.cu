/* hone
{ "name": "stops_at_data",
  "sizes": {"M": 64, "N": 8192},
  "check_sizes": [{"M": 33, "N": 8192}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "y", "M", "N"]} ] }
*/
// lift: no: number of rounds is not known

__global__ void k(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0;
  int c = 0;
  while (c < cols && sum < 10.0f) sum += fabsf(x[r * cols + c++]);
  y[r] = sum;
}
