/* hone
{ "name": "variance",
  "sizes": {"ROWS": 16384, "COLS": 4096},
  "check_sizes": [{"ROWS": 128, "COLS": 64}, {"ROWS": 60, "COLS": 88}, {"ROWS": 71, "COLS": 97}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"normal": [1, 2]}},
    {"name": "mean", "type": "f32", "shape": ["ROWS"], "role": "scratch"},
    {"name": "var", "type": "f32", "shape": ["ROWS"], "role": "out"} ],
  "launches": [
    {"kernel": "row_mean", "grid": ["ceildiv(ROWS,128)"], "block": [128],
     "args": ["x", "mean", "ROWS", "COLS"]},
    {"kernel": "row_variance", "grid": ["ceildiv(ROWS,128)"], "block": [128],
     "args": ["x", "mean", "var", "ROWS", "COLS"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5},
  "math": "reassociate",
  "flops": "4*ROWS*COLS",
  "torch": "torch.var(x, dim=1, correction=0)" }
*/

__global__ void row_mean(const float* x, float* mean, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    float sum = 0.0f;
    for (int j = 0; j < cols; ++j) {
      sum += x[row * cols + j];
    }
    mean[row] = sum / cols;
  }
}

__global__ void row_variance(const float* x, const float* mean, float* var, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    float sum = 0.0f;
    for (int j = 0; j < cols; ++j) {
      float d = x[row * cols + j] - mean[row];
      sum += d * d;
    }
    var[row] = sum / cols;
  }
}
