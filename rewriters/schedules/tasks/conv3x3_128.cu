/* hone
{ "name": "conv3x3_128",
  "sizes": {"N": 16, "C": 128, "K": 128, "H": 64, "W": 64},
  "check_sizes": [{"N": 1, "C": 4, "K": 8, "H": 16, "W": 16}, {"N": 2, "C": 3, "K": 4, "H": 12, "W": 20}, {"N": 2, "C": 3, "K": 5, "H": 13, "W": 17}],
  "buffers": [
    {"name": "input", "type": "f32", "shape": ["N", "C", "H", "W"], "fill": {"uniform": [-1, 1]}},
    {"name": "weight", "type": "f32", "shape": ["K", "C", 3, 3], "fill": {"uniform": [-1, 1]}},
    {"name": "output", "type": "f32", "shape": ["N", "K", "H", "W"], "role": "out"} ],
  "launches": [
    {"kernel": "conv3x3", "grid": ["ceildiv(W,16)", "ceildiv(H,16)", "N*K"], "block": [16, 16],
     "args": ["input", "weight", "output", "C", "K", "H", "W"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-4},
  "math": "reassociate",
  "flops": "18*N*C*K*H*W",
  "torch": "torch.nn.functional.conv2d(input, weight, padding=1)" }
*/

__global__ void conv3x3(const float* input, const float* weight, float* output, int C, int K, int H, int W) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int n = blockIdx.z / K, k = blockIdx.z % K;
  if (x >= W || y >= H) return;
  float sum = 0.0f;
  for (int c = 0; c < C; ++c) {
    for (int r = 0; r < 3; ++r) {
      for (int s = 0; s < 3; ++s) {
        int ih = y + r - 1, iw = x + s - 1;
        if (ih < 0 || ih >= H || iw < 0 || iw >= W) continue;
        sum += input[((n * C + c) * H + ih) * W + iw] * weight[((k * C + c) * 3 + r) * 3 + s];
      }
    }
  }
  output[((n * K + k) * H + y) * W + x] = sum;
}
