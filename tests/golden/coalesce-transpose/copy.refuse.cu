// Both sides are coalesced already.
/* hone
{ "name": "copy",
  "sizes": {"H": 1024, "W": 500},
  "check_sizes": [{"H": 1024, "W": 500}],
  "buffers": [
    {"name": "in", "type": "f32", "shape": ["H", "W"]},
    {"name": "out", "type": "f32", "shape": ["H", "W"], "role": "out"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(W,16)", "ceildiv(H,16)"], "block": [16, 16], "args": ["in", "out", "W", "H"]}] }
*/
__global__ void k(const float* in, float* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  out[y * width + x] = 2.0f * in[y * width + x];
}
