/* hone
{ "name": "transpose",
  "sizes": {"WIDTH": 8192, "HEIGHT": 8192},
  "check_sizes": [{"WIDTH": 128, "HEIGHT": 64}, {"WIDTH": 72, "HEIGHT": 56},
                  {"WIDTH": 67, "HEIGHT": 41}],
  "buffers": [
    {"name": "src", "type": "f32", "shape": ["HEIGHT", "WIDTH"], "fill": {"uniform": [-1, 1]}},
    {"name": "dst", "type": "f32", "shape": ["WIDTH", "HEIGHT"], "role": "out"} ],
  "launches": [
    {"kernel": "transpose", "grid": ["ceildiv(WIDTH,32)", "ceildiv(HEIGHT,32)"],
     "block": [32, 32], "args": ["src", "dst", "WIDTH", "HEIGHT"]} ],
  "tolerance": {"rtol": 0, "atol": 0},
  "torch": "src.t().contiguous()" }
*/

__global__ void transpose(const float* src, float* dst, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  dst[x * height + y] = src[y * width + x];
}
