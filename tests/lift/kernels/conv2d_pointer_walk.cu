/* hone
{ "name": "conv2d_pointer_walk",
  "sizes": {"N": 8, "C": 32, "H": 64, "W": 64, "K": 32},
  "check_sizes": [{"N": 2, "C": 4, "H": 9, "W": 11, "K": 6}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["C", "H", "W"]},
    {"name": "w", "type": "f32", "shape": ["K", "C", 3, 3]},
    {"name": "y", "type": "f32", "shape": ["K", "H-2", "W-2"], "role": "out"} ],
  "launches": [
    {"kernel": "conv", "grid": ["ceildiv(W-2,16)", "H-2", "K"], "block": [16], "args": ["x", "w", "y", "C", "H", "W"]} ] }
*/
// lift: yes

// Pointers are carried through three loops.
__global__ void conv(const float* x, const float* w, float* y, int C, int H, int W) {
  int ox = blockIdx.x * blockDim.x + threadIdx.x;
  if (ox >= W - 2) return;
  const float* in = x + blockIdx.y * W + ox;
  const float* f = w + blockIdx.z * C * 9;
  float sum = 0;
  for (int c = 0; c < C; ++c) {
    for (int r = 0; r < 3; ++r) {
      for (int s = 0; s < 3; ++s) sum += *in++ * *f++;
      in += W - 3;
    }
    in += (H - 3) * W;
  }
  y[(blockIdx.z * (H - 2) + blockIdx.y) * (W - 2) + ox] = sum;
}
