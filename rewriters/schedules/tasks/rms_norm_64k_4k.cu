/* hone
{ "name": "rms_norm_64k_4k",
  "sizes": {"ROWS": 65536, "COLS": 4096},
  "check_sizes": [{"ROWS": 64, "COLS": 128}, {"ROWS": 33, "COLS": 96}, {"ROWS": 41, "COLS": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"normal": [0, 1]}},
    {"name": "gain", "type": "f32", "shape": ["COLS"], "fill": {"uniform": [0.5, 1.5]}},
    {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"} ],
  "launches": [
    {"kernel": "rms_norm", "grid": ["ceildiv(ROWS,256)"], "block": [256], "args": ["x", "gain", "y", "ROWS", "COLS"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5},
  "math": "reassociate",
  "flops": "4*ROWS*COLS",
  "torch": "torch.nn.functional.rms_norm(x, (x.shape[1],), gain, 1e-5)" }
*/

__global__ void rms_norm(const float* x, const float* gain, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* in = x + (size_t)row * cols;
  float squares = 0.0f;
  for (int c = 0; c < cols; c++) squares += in[c] * in[c];
  float scale = rsqrtf(squares / cols + 1e-5f);
  for (int c = 0; c < cols; c++) y[(size_t)row * cols + c] = in[c] * scale * gain[c];
}
