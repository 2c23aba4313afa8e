/* hone
{ "name": "transpose_16k",
  "sizes": {"ROWS": 16384, "COLS": 16384},
  "check_sizes": [{"ROWS": 64, "COLS": 128}, {"ROWS": 33, "COLS": 96}, {"ROWS": 41, "COLS": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"normal": [0, 1]}},
    {"name": "y", "type": "f32", "shape": ["COLS", "ROWS"], "role": "out"} ],
  "launches": [
    {"kernel": "transpose", "grid": ["ceildiv(COLS,32)", "ceildiv(ROWS,8)"], "block": [32, 8], "args": ["x", "y", "ROWS", "COLS"]} ],
  "tolerance": {"rtol": 0, "atol": 0},
  "torch": "x.t().contiguous()" }
*/

__global__ void transpose(const float* x, float* y, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && col < cols) y[(size_t)col * rows + row] = x[(size_t)row * cols + col];
}
