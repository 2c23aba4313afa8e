/* hone
{ "name": "conv2d_struct_by_value",
  "sizes": {"N": 8, "C": 32, "H": 64, "W": 64, "K": 32},
  "check_sizes": [{"N": 2, "C": 4, "H": 9, "W": 11, "K": 6}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N", "C", "H", "W"]},
    {"name": "w", "type": "f32", "shape": ["K", "C/2", 3, 3]},
    {"name": "bias", "type": "f32", "shape": ["K"]},
    {"name": "y", "type": "f32", "shape": ["N", "K", "(H-1)/2+1", "(W-1)/2+1"], "role": "out"} ],
  "launches": [
    {"kernel": "conv", "grid": ["ceildiv(N*K*((H-1)/2+1)*((W-1)/2+1),64)"], "block": [64], "args": ["x", "w", "bias", "y", "N", "C", "H", "W", "K"]} ] }
*/
// lift: yes

struct Shape { int stride, pad, dilation, groups; };
// Grouped, strided and padded; a grid-stride loop; the parameters in a struct.
__device__ float tap(const float* plane, int h, int w, int H, int W) {
  if (h < 0 || w < 0 || h >= H || w >= W) return 0.f;
  return __ldg(plane + h * W + w);
}
__global__ void conv(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ bias,
                     float* __restrict__ y, int N, int C, int H, int W, int K) {
  Shape p = {2, 1, 1, 2};
  int OH = (H + 2 * p.pad - p.dilation * 2 - 1) / p.stride + 1;
  int OW = (W + 2 * p.pad - p.dilation * 2 - 1) / p.stride + 1;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N * K * OH * OW; i += blockDim.x * gridDim.x) {
    int ow = i % OW;
    int t = i / OW;
    int oh = t % OH;
    t /= OH;
    int k = t % K;
    int n = t / K;
    int cg = C / p.groups, g = k / (K / p.groups);
    float acc = bias[k];
    for (int c = 0; c < cg; ++c) {
      const float* plane = x + ((long long)n * C + g * cg + c) * H * W;
      for (int r = 0; r < 3; ++r)
        for (int s = 0; s < 3; ++s)
          acc += tap(plane, oh * p.stride - p.pad + r * p.dilation, ow * p.stride - p.pad + s * p.dilation, H, W) *
                 w[((k * cg + c) * 3 + r) * 3 + s];
    }
    y[i] = acc;
  }
}
