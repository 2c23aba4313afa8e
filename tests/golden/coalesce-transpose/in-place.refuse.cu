// The kernel reads what it writes.
/* hone
{ "name": "in_place",
  "sizes": {"H": 512, "W": 512},
  "check_sizes": [{"H": 512, "W": 512}],
  "buffers": [
    {"name": "data", "type": "f32", "shape": ["H", "W"], "role": "inout"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(W,16)", "ceildiv(H,16)"], "block": [16, 16], "args": ["data", "W", "H"]}] }
*/
__global__ void k(float* data, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  if (x < y) data[x * height + y] = data[y * width + x];
}
