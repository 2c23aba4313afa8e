/* hone
{ "name": "warp_per_row_max_sum",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 17, "N": 96}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"], "fill": {"normal": [0, 3]}},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "softmax", "grid": ["ceildiv(M,4)"], "block": [32, 4], "args": ["x", "y", "M", "N"]} ] }
*/
// lift: yes

__device__ __forceinline__ float warp_max(float v) {
  for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, o));
  return v;
}
__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  return __shfl_sync(0xffffffff, v, 0);
}
// A warp per row, as many rounds for each lane.
__global__ void softmax(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
  if (r >= rows) return;
  const float* in = x + r * cols;
  float m = -1e30f;
  for (int c = lane; c < cols; c += 32) m = fmaxf(m, in[c]);
  m = warp_max(m);
  float s = 0;
  for (int c = lane; c < cols; c += 32) s += expf(in[c] - m);
  s = warp_sum(s);
  for (int c = lane; c < cols; c += 32) y[r * cols + c] = expf(in[c] - m) / s;
}
