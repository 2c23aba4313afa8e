/* hone
{ "name": "conv_transposed_gather",
  "sizes": {"C": 4, "H": 32, "W": 32, "O": 4},
  "check_sizes": [{"C": 2, "H": 5, "W": 7, "O": 3}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["C", "H", "W"]},
    {"name": "w", "type": "f32", "shape": ["C", "O", 3, 3]},
    {"name": "y", "type": "f32", "shape": ["O", "2*H+1", "2*W+1"], "role": "out"} ],
  "launches": [
    {"kernel": "deconv", "grid": ["ceildiv(2*W+1,8)", "ceildiv(2*H+1,8)", "O"], "block": [8, 8],
     "args": ["x", "w", "y", "C", "H", "W", "O"]} ] }
*/
// lift: yes

// Transposed convolution, stride 2, no padding: each output asks which inputs reach it.
__global__ void deconv(const float* x, const float* w, float* y, int C, int H, int W, int O) {
  int ow = blockIdx.x * blockDim.x + threadIdx.x, oh = blockIdx.y * blockDim.y + threadIdx.y;
  int o = blockIdx.z;
  int OW = 2 * W + 1, OH = 2 * H + 1;
  if (ow >= OW || oh >= OH) return;
  float sum = 0.0f;
  for (int c = 0; c < C; ++c)
    for (int kh = 0; kh < 3; ++kh)
      for (int kw = 0; kw < 3; ++kw) {
        int th = oh - kh, tw = ow - kw;
        if (th < 0 || tw < 0 || th % 2 != 0 || tw % 2 != 0) continue;
        int ih = th / 2, iw = tw / 2;
        if (ih < H && iw < W) sum += x[(c * H + ih) * W + iw] * w[((c * O + o) * 3 + kh) * 3 + kw];
      }
  y[(o * OH + oh) * OW + ow] = sum;
}
