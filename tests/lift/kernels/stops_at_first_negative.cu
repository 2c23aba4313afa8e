/* hone
{ "name": "stops_at_first_negative",
  "sizes": {"M": 64, "N": 64},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "y", "M", "N"]} ] }
*/
// lift: no: a loop that is left early

// What ends the loop is no filter.
__global__ void k(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0;
  for (int c = 0; c < 12; ++c) {
    if (x[r * cols + c] < -0.5f) break;
    sum += x[r * cols + c];
  }
  y[r] = sum;
}
