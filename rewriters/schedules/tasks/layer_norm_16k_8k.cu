/* hone
{ "name": "layer_norm_16k_8k",
  "sizes": {"ROWS": 16384, "COLS": 8192},
  "check_sizes": [{"ROWS": 32, "COLS": 128}, {"ROWS": 17, "COLS": 96}, {"ROWS": 21, "COLS": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"normal": [0, 1]}},
    {"name": "gamma", "type": "f32", "shape": ["COLS"], "fill": {"uniform": [0.5, 1.5]}},
    {"name": "beta", "type": "f32", "shape": ["COLS"], "fill": {"uniform": [-1, 1]}},
    {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"} ],
  "launches": [
    {"kernel": "layer_norm", "grid": ["ceildiv(ROWS,128)"], "block": [128], "args": ["x", "gamma", "beta", "y", "ROWS", "COLS"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-4},
  "math": "reassociate",
  "flops": "8*ROWS*COLS",
  "torch": "torch.nn.functional.layer_norm(x, (x.shape[1],), gamma, beta)" }
*/

__global__ void layer_norm(const float* x, const float* gamma, const float* beta, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float mean = 0.0f;
  for (int c = 0; c < cols; ++c) mean += x[row * cols + c];
  mean /= cols;
  float variance = 0.0f;
  for (int c = 0; c < cols; ++c) variance += (x[row * cols + c] - mean) * (x[row * cols + c] - mean);
  float scale = rsqrtf(variance / cols + 1e-5f);
  for (int c = 0; c < cols; ++c) y[row * cols + c] = (x[row * cols + c] - mean) * scale * gamma[c] + beta[c];
}
