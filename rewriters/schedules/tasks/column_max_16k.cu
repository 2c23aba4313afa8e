/* hone
{ "name": "column_max_16k",
  "sizes": {"ROWS": 16384, "COLS": 16384},
  "check_sizes": [{"ROWS": 64, "COLS": 128}, {"ROWS": 33, "COLS": 96}, {"ROWS": 41, "COLS": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"normal": [0, 1]}},
    {"name": "y", "type": "f32", "shape": ["COLS"], "role": "out"} ],
  "launches": [
    {"kernel": "column_max", "grid": ["ceildiv(COLS,256)"], "block": [256], "args": ["x", "y", "ROWS", "COLS"]} ],
  "tolerance": {"rtol": 0, "atol": 0},
  "math": "reassociate",
  "flops": "ROWS*COLS",
  "torch": "torch.amax(x, dim=0)" }
*/

__global__ void column_max(const float* x, float* y, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  float best = x[col];
  for (int r = 1; r < rows; r++) {
    float v = x[(size_t)r * cols + col];
    if (v > best) best = v;
  }
  y[col] = best;
}
