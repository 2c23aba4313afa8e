/* hone
{ "name": "column_sum",
  "sizes": {"H": 16384, "W": 8192},
  "check_sizes": [{"H": 64, "W": 256}, {"H": 50, "W": 72}, {"H": 59, "W": 83}],
  "buffers": [
    {"name": "image", "type": "f32", "shape": ["H", "W"], "fill": {"uniform": [0, 1]}},
    {"name": "sums", "type": "f32", "shape": ["W"], "role": "out"} ],
  "launches": [
    {"kernel": "sum_columns", "grid": ["ceildiv(W,256)"], "block": [256],
     "args": ["image", "sums", "H", "W"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-4},
  "math": "reassociate",
  "flops": "H*W",
  "torch": "image.sum(dim=0)" }
*/

__global__ void sum_columns(const float* in, float* out, int height, int width) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < width) {
    float acc = 0;
    for (int row = 0; row < height; row++) {
      acc = acc + in[row * width + col];
    }
    out[col] = acc;
  }
}
