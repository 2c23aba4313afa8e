/* hone
{ "name": "conv3x3",
  "sizes": {"N": 32, "C": 64, "K": 64, "H": 56, "W": 56},
  "check_sizes": [{"N": 1, "C": 4, "K": 8, "H": 16, "W": 16},
                  {"N": 2, "C": 3, "K": 4, "H": 12, "W": 20},
                  {"N": 2, "C": 3, "K": 5, "H": 13, "W": 17}],
  "buffers": [
    {"name": "input", "type": "f32", "shape": ["N", "C", "H", "W"], "fill": {"uniform": [-1, 1]}},
    {"name": "weight", "type": "f32", "shape": ["K", "C", 3, 3], "fill": {"uniform": [-1, 1]}},
    {"name": "bias", "type": "f32", "shape": ["K"], "fill": {"uniform": [-1, 1]}},
    {"name": "output", "type": "f32", "shape": ["N", "K", "H", "W"], "role": "out"} ],
  "launches": [
    {"kernel": "conv3x3", "grid": ["ceildiv(W,16)", "ceildiv(H,16)", "N*K"],
     "block": [16, 16], "args": ["input", "weight", "bias", "output", "C", "K", "H", "W"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-4},
  "math": "reassociate",
  "flops": "18*N*K*C*H*W",
  "torch": "torch.nn.functional.conv2d(input, weight, bias, padding=1)" }
*/

// NCHW, stride 1, zero padding of one pixel.
__global__ void conv3x3(const float* input, const float* weight, const float* bias, float* output,
                        int C, int K, int H, int W) {
  int w = blockIdx.x * blockDim.x + threadIdx.x;
  int h = blockIdx.y * blockDim.y + threadIdx.y;
  int n = blockIdx.z / K;
  int k = blockIdx.z % K;
  if (w >= W || h >= H) return;

  float sum = bias[k];
  for (int c = 0; c < C; c++) {
    for (int r = 0; r < 3; r++) {
      for (int s = 0; s < 3; s++) {
        int ih = h + r - 1;
        int iw = w + s - 1;
        if (ih >= 0 && ih < H && iw >= 0 && iw < W) {
          sum += input[((n * C + c) * H + ih) * W + iw] * weight[((k * C + c) * 3 + r) * 3 + s];
        }
      }
    }
  }
  output[((n * K + k) * H + h) * W + w] = sum;
}
