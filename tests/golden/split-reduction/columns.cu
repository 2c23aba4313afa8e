/* hone
{ "name": "columns",
  "sizes": {"R": 1024, "C": 500},
  "check_sizes": [{"R": 1024, "C": 500}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["R", "C"]},
    {"name": "sums", "type": "f32", "shape": ["C"], "role": "out"}],
  "launches": [
    {"kernel": "column_sum", "grid": ["ceildiv(C,128)"], "block": [128], "args": ["x", "sums", "R", "C"]}] }
*/
__global__ void column_sum(const float* x, float* sums, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  float acc = 0;
  for (int row = 0; row < rows; row++) acc = acc + x[row * cols + col];
  sums[col] = acc;
}
