/* hone
{ "name": "conv_depthwise",
  "sizes": {"N": 32, "C": 128, "H": 256, "W": 256},
  "check_sizes": [{"N": 1, "C": 4, "H": 16, "W": 16}, {"N": 2, "C": 3, "H": 12, "W": 20}, {"N": 2, "C": 5, "H": 13, "W": 17}],
  "buffers": [
    {"name": "input", "type": "f32", "shape": ["N", "C", "H", "W"], "fill": {"uniform": [-1, 1]}},
    {"name": "weight", "type": "f32", "shape": ["C", 1, 3, 3], "fill": {"uniform": [-1, 1]}},
    {"name": "output", "type": "f32", "shape": ["N", "C", "H-2", "W-2"], "role": "out"} ],
  "launches": [
    {"kernel": "conv_depthwise", "grid": ["ceildiv(N*C*(H-2)*(W-2),256)"], "block": [256],
     "args": ["input", "weight", "output", "N*C*(H-2)*(W-2)", "C", "H", "W"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5},
  "math": "reassociate",
  "flops": "18*N*C*(H-2)*(W-2)",
  "torch": "torch.nn.functional.conv2d(input, weight, groups=input.shape[1])" }
*/

__global__ void conv_depthwise(const float* input, const float* weight, float* output, int total, int C, int H, int W) {
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= total) return;
  int OW = W - 2, OH = H - 2;
  int x = index % OW;
  int y = index / OW % OH;
  int c = index / (OW * OH) % C;
  int n = index / (OW * OH * C);
  const float* plane = input + (n * C + c) * H * W;
  float sum = 0.0f;
  for (int r = 0; r < 3; ++r)
    for (int s = 0; s < 3; ++s) sum += plane[(y + r) * W + x + s] * weight[(c * 3 + r) * 3 + s];
  output[index] = sum;
}
