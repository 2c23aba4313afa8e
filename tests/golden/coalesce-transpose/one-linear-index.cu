/* hone
{ "name": "one_linear_index",
  "sizes": {"H": 1024, "W": 500},
  "check_sizes": [{"H": 1024, "W": 500}],
  "buffers": [
    {"name": "in", "type": "f32", "shape": ["H", "W"]},
    {"name": "out", "type": "f32", "shape": ["W", "H"], "role": "out"}],
  "launches": [
    {"kernel": "transpose", "grid": ["ceildiv(H*W,256)"], "block": [256], "args": ["in", "out", "H", "W"]}],
  "math": "exact" }
*/
__global__ void transpose(const float* in, float* out, int rows, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * cols) {
    int r = i / cols;
    int c = i % cols;
    out[c * rows + r] = in[i];
  }
}
