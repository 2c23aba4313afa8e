/* hone
{ "name": "im2col_by_division",
  "sizes": {"C": 16, "H": 64, "W": 64, "K": 3},
  "check_sizes": [{"C": 3, "H": 11, "W": 13, "K": 3}],
  "buffers": [
    {"name": "im", "type": "f32", "shape": ["C", "H", "W"]},
    {"name": "col", "type": "f32", "shape": ["C*K*K", "H*W"], "role": "out"} ],
  "launches": [
    {"kernel": "im2col", "grid": ["ceildiv(C*H*W,256)"], "block": [256], "args": ["im", "col", "C", "H", "W", "K"]} ] }
*/
// lift: yes

__global__ void im2col(const float* im, float* col, int C, int H, int W, int K) {
  unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= C * H * W) return;
  int w_out = index % W;
  int h_index = index / W;
  int h_out = h_index % H;
  int channel_in = h_index / H;
  int channel_out = channel_in * K * K;
  float* col_ptr = col + (channel_out * H + h_out) * W + w_out;
  const float* im_ptr = im + (channel_in * H + h_out - K / 2) * W + w_out - K / 2;
  for (int i = 0; i < K; ++i)
    for (int j = 0; j < K; ++j) {
      int h = h_out - K / 2 + i, w = w_out - K / 2 + j;
      *col_ptr = (h >= 0 && w >= 0 && h < H && w < W) ? im_ptr[i * W + j] : 0;
      col_ptr += H * W;
    }
}
