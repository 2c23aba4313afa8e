/* hone
{ "name": "cumsum_16k",
  "sizes": {"ROWS": 16384, "COLS": 16384},
  "check_sizes": [{"ROWS": 64, "COLS": 128}, {"ROWS": 33, "COLS": 96}, {"ROWS": 41, "COLS": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"normal": [0, 1]}},
    {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"} ],
  "launches": [
    {"kernel": "cumsum", "grid": ["ceildiv(ROWS,256)"], "block": [256], "args": ["x", "y", "ROWS", "COLS"]} ],
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
