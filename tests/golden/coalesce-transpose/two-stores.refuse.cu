// There are two stores.
/* hone
{ "name": "two_stores",
  "sizes": {"H": 1024, "W": 500},
  "check_sizes": [{"H": 1024, "W": 500}],
  "buffers": [
    {"name": "in", "type": "f32", "shape": ["H", "W"]},
    {"name": "out", "type": "f32", "shape": ["W", "H"], "role": "out"},
    {"name": "sum", "type": "f32", "shape": ["W", "H"], "role": "out"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(W,16)", "ceildiv(H,16)"], "block": [16, 16], "args": ["in", "out", "sum", "W", "H"]}] }
*/
__global__ void k(const float* in, float* out, float* sum, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  out[x * height + y] = in[y * width + x];
  sum[x * height + y] = in[y * width + x];
}
