/* hone
{ "name": "silu_16k",
  "sizes": {"ROWS": 16384, "COLS": 16384},
  "check_sizes": [{"ROWS": 64, "COLS": 128}, {"ROWS": 33, "COLS": 96}, {"ROWS": 41, "COLS": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"normal": [0, 1]}},
    {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"} ],
  "launches": [
    {"kernel": "silu", "grid": ["ceildiv(ROWS*COLS,256)"], "block": [256], "args": ["x", "y", "ROWS", "COLS"]} ],
  "tolerance": {"rtol": 1e-5, "atol": 1e-6},
  "math": "reassociate",
  "flops": "4*ROWS*COLS",
  "torch": "torch.nn.functional.silu(x)" }
*/

__global__ void silu(const float* x, float* y, int rows, int cols) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (long long)rows * cols) y[i] = x[i] / (1.0f + expf(-x[i]));
}
