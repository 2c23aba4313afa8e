/* hone
{ "name": "conv_whose_grid_has_a_tail",
  "sizes": {"N": 16, "C": 8, "K": 16, "H": 36, "W": 38},
  "check_sizes": [{"N": 11, "C": 3, "K": 4, "H": 6, "W": 8}, {"N": 3, "C": 4, "K": 5, "H": 7, "W": 9}],
  "buffers": [
    {"name": "input", "type": "f32", "shape": ["N", "C", "H", "W"]},
    {"name": "weight", "type": "f32", "shape": ["K", "C", 5, 7]},
    {"name": "output", "type": "f32", "shape": ["N", "K", "H-4", "W-6"], "role": "out"} ],
  "launches": [
    {"kernel": "conv2d", "grid": ["ceildiv(N*K*(H-4)*(W-6),256)"], "block": [256],
     "args": ["input", "weight", "output", "N*K*(H-4)*(W-6)", "C", "K", "H", "W", "H-4", "W-6"]} ],
  "math": "reassociate" }
*/
// lift: yes

// The grid has more threads than outputs: what they would read lies beyond the last image.
__global__ void conv2d(const float* input, const float* weight, float* output, int total, int C, int K,
                       int H, int W, int OH, int OW) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  int ow = i % OW, oh = i / OW % OH, k = i / (OW * OH) % K, n = i / (OW * OH) / K;
  float sum = 0.0f;
  for (int c = 0; c < C; c++)
    for (int r = 0; r < 5; r++)
      for (int s = 0; s < 7; s++)
        sum += input[((n * C + c) * H + oh + r) * W + ow + s] * weight[((k * C + c) * 5 + r) * 7 + s];
  output[i] = sum;
}
