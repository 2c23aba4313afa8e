/* hone
{ "name": "log_softmax_4k_64k",
  "sizes": {"ROWS": 4096, "COLS": 65536},
  "check_sizes": [{"ROWS": 64, "COLS": 128}, {"ROWS": 33, "COLS": 96}, {"ROWS": 41, "COLS": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"normal": [0, 1]}},
    {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"} ],
  "launches": [
    {"kernel": "log_softmax", "grid": ["ceildiv(ROWS,256)"], "block": [256], "args": ["x", "y", "ROWS", "COLS"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5},
  "math": "reassociate",
  "flops": "5*ROWS*COLS",
  "torch": "torch.log_softmax(x, dim=1)" }
*/

__global__ void log_softmax(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* in = x + (size_t)row * cols;
  float* out = y + (size_t)row * cols;
  float largest = in[0];
  for (int c = 1; c < cols; c++) largest = fmaxf(largest, in[c]);
  float sum = 0.0f;
  for (int c = 0; c < cols; c++) sum += expf(in[c] - largest);
  float shift = largest + logf(sum);
  for (int c = 0; c < cols; c++) out[c] = in[c] - shift;
}
