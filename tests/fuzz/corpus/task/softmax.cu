/* hone
{ "name": "softmax",
  "sizes": {"ROWS": 8192, "COLS": 4096},
  "check_sizes": [{"ROWS": 64, "COLS": 128}, {"ROWS": 33, "COLS": 96}, {"ROWS": 41, "COLS": 79}],
  "buffers": [
    {"name": "input", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"normal": [0, 2]}},
    {"name": "output", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"} ],
  "launches": [
    {"kernel": "softmax_rows", "grid": ["ceildiv(ROWS,256)"], "block": [256],
     "args": ["input", "output", "ROWS", "COLS"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-6},
  "math": "reassociate",
  "flops": "5*ROWS*COLS",
  "torch": "torch.softmax(input, dim=1)" }
*/

__global__ void softmax_rows(const float* input, float* output, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;

  // Subtract the largest value so that exp cannot overflow.
  float largest = input[row * cols];
  for (int c = 1; c < cols; c++) {
    largest = fmaxf(largest, input[row * cols + c]);
  }

  float sum = 0.0f;
  for (int c = 0; c < cols; c++) {
    sum += expf(input[row * cols + c] - largest);
  }

  for (int c = 0; c < cols; c++) {
    output[row * cols + c] = expf(input[row * cols + c] - largest) / sum;
  }
}
