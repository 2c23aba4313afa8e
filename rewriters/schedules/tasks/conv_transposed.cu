/* hone
{ "name": "conv_transposed",
  "sizes": {"N": 16, "C": 64, "K": 64, "H": 64, "W": 64},
  "check_sizes": [{"N": 1, "C": 4, "K": 4, "H": 8, "W": 8}, {"N": 2, "C": 3, "K": 5, "H": 6, "W": 10}, {"N": 2, "C": 3, "K": 4, "H": 7, "W": 9}],
  "buffers": [
    {"name": "input", "type": "f32", "shape": ["N", "C", "H", "W"], "fill": {"uniform": [-1, 1]}},
    {"name": "weight", "type": "f32", "shape": ["C", "K", 3, 3], "fill": {"uniform": [-1, 1]}},
    {"name": "output", "type": "f32", "shape": ["N", "K", "H+2", "W+2"], "role": "out"} ],
  "launches": [
    {"kernel": "conv_transposed", "grid": ["ceildiv(W+2,16)", "ceildiv(H+2,16)", "N*K"], "block": [16, 16],
     "args": ["input", "weight", "output", "C", "K", "H", "W"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-4},
  "math": "reassociate",
  "flops": "18*N*C*K*H*W",
  "torch": "torch.nn.functional.conv_transpose2d(input, weight)" }
*/

// Gathers: which inputs reach an output.
__global__ void conv_transposed(const float* input, const float* weight, float* output, int C, int K, int H, int W) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int n = blockIdx.z / K, k = blockIdx.z % K;
  if (x >= W + 2 || y >= H + 2) return;
  float sum = 0.0f;
  for (int c = 0; c < C; ++c) {
    for (int r = 0; r < 3; ++r) {
      for (int s = 0; s < 3; ++s) {
        int ih = y - r, iw = x - s;
        if (ih < 0 || ih >= H || iw < 0 || iw >= W) continue;
        sum += input[((n * C + c) * H + ih) * W + iw] * weight[((c * K + k) * 3 + r) * 3 + s];
      }
    }
  }
  output[((n * K + k) * (H + 2) + y) * (W + 2) + x] = sum;
}
