/* hone
{ "name": "transpose",
  "sizes": {"H": 1024, "W": 500},
  "check_sizes": [{"H": 1024, "W": 500}],
  "buffers": [
    {"name": "in", "type": "f32", "shape": ["H", "W"]},
    {"name": "out", "type": "f32", "shape": ["W", "H"], "role": "out"}],
  "launches": [
    {"kernel": "transpose", "grid": ["ceildiv(W,16)", "ceildiv(H,16)"], "block": [16, 16], "args": ["in", "out", "W", "H"]}],
  "math": "exact" }
*/
__global__ void transpose(const float* in, float* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  out[x * height + y] = in[y * width + x];
}
