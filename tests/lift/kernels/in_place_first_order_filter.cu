/* hone
{ "name": "in_place_first_order_filter",
  "sizes": {"M": 64, "N": 64},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"], "role": "inout"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "M", "N"]} ] }
*/
// lift: no: cannot be shown not to meet

// A round reads what the round before has written.
__global__ void k(float* x, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  for (int c = 1; c < cols; ++c) x[r * cols + c] += 0.5f * x[r * cols + c - 1];
}
