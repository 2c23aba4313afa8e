/* hone
{ "name": "cumsum_64_1m",
  "sizes": {"ROWS": 64, "COLS": 1048576},
  "check_sizes": [{"ROWS": 2, "COLS": 16384}, {"ROWS": 3, "COLS": 6001}, {"ROWS": 5, "COLS": 2049}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"normal": [0, 1]}},
    {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"} ],
  "launches": [
    {"kernel": "cumsum", "grid": ["ceildiv(ROWS,32)"], "block": [32], "args": ["x", "y", "ROWS", "COLS"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-2},
  "math": "reassociate",
  "flops": "ROWS*COLS",
  "torch": "torch.cumsum(x, dim=1)" }
*/

__global__ void cumsum(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < cols; c++) {
    sum += x[(size_t)row * cols + c];
    y[(size_t)row * cols + c] = sum;
  }
}
