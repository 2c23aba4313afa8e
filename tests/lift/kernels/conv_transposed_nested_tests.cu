/* hone
{ "name": "conv_transposed_nested_tests",
  "sizes": {"C": 16, "K": 16, "L": 64},
  "check_sizes": [{"C": 3, "K": 4, "L": 9}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["C", "L"]},
    {"name": "w", "type": "f32", "shape": ["C", "K", 3]},
    {"name": "y", "type": "f32", "shape": ["K", "3*(L-1)+3-2"], "role": "out"} ],
  "launches": [
    {"kernel": "deconv", "grid": ["ceildiv(3*(L-1)+1,16)", "K"], "block": [16], "args": ["x", "w", "y", "C", "K", "L", "3*(L-1)+1"]} ] }
*/
// lift: yes

// Stride 3, padding 1, 1-D; the remainder is tested before the quotient is known to be inside.
__global__ void deconv(const float* x, const float* w, float* y, int C, int K, int L, int OL) {
  int o = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y;
  if (o >= OL) return;
  float sum = 0;
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < 3; ++r) {
      int t = o + 1 - r;
      if (t % 3 == 0) {
        int i = t / 3;
        if (i >= 0 && i < L) sum += x[c * L + i] * w[(c * K + k) * 3 + r];
      }
    }
  y[k * OL + o] = sum;
}
