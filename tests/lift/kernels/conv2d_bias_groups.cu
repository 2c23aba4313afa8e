/* hone
{ "name": "conv2d_bias_groups",
  "sizes": {"B": 4, "C": 8, "H": 32, "W": 32, "O": 8},
  "check_sizes": [{"B": 2, "C": 4, "H": 9, "W": 11, "O": 6}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["B", "C", "H", "W"]},
    {"name": "w", "type": "f32", "shape": ["O", "C/2", 3, 3]},
    {"name": "bias", "type": "f32", "shape": ["O"]},
    {"name": "y", "type": "f32", "shape": ["B", "O", "H", "W"], "role": "out"} ],
  "launches": [
    {"kernel": "conv2d", "grid": ["ceildiv(W,8)", "ceildiv(H,8)", "B*O"], "block": [8, 8],
     "args": ["x", "w", "bias", "y", "B", "C", "H", "W", "O"]} ] }
*/
// lift: yes

__global__ void conv2d(const float* __restrict__ x, const float* __restrict__ w,
                       const float* __restrict__ bias, float* __restrict__ y, int B, int C, int H,
                       int W, int O) {
  int ow = blockIdx.x * blockDim.x + threadIdx.x;
  int oh = blockIdx.y * blockDim.y + threadIdx.y;
  int o = blockIdx.z % O, b = blockIdx.z / O;
  if (ow >= W || oh >= H) return;
  const int per_group = C / 2;
  const int group = o / (O / 2);
  float sum = bias[o];
  for (int c = 0; c < per_group; c++) {
    for (int kh = 0; kh < 3; kh++) {
      int ih = oh + kh - 1;
      if (ih < 0 || ih >= H) continue;
      for (int kw = 0; kw < 3; kw++) {
        int iw = ow + kw - 1;
        if (iw < 0 || iw >= W) continue;
        sum += __ldg(&x[((b * C + group * per_group + c) * H + ih) * W + iw]) *
               __ldg(&w[((o * per_group + c) * 3 + kh) * 3 + kw]);
      }
    }
  }
  y[((b * O + o) * H + oh) * W + ow] = fmaxf(sum, 0.0f);
}
