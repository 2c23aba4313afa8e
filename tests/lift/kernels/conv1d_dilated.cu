/* hone
{ "name": "conv1d_dilated",
  "sizes": {"B": 4, "C": 8, "L": 512, "O": 8},
  "check_sizes": [{"B": 2, "C": 3, "L": 41, "O": 5}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["B", "C", "L"]},
    {"name": "w", "type": "f32", "shape": ["O", "C", 3]},
    {"name": "y", "type": "f32", "shape": ["B", "O", "(L+1)/2"], "role": "out"} ],
  "launches": [
    {"kernel": "conv1d", "grid": ["ceildiv(B*O*((L+1)/2),64)"], "block": [64],
     "args": ["x", "w", "y", "B", "C", "L", "O", "(L+1)/2"]} ] }
*/
// lift: yes

// Stride 2, dilation 2, padding 2; one flat index over batch, channel and place.
__global__ void conv1d(const float* x, const float* w, float* y, int B, int C, int L, int O, int P) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx >= B * O * P) return;
  int p = idx % P;
  int o = (idx / P) % O;
  int b = idx / (P * O);
  float acc = 0;
  for (int c = 0; c < C; ++c) {
    for (int k = 0; k < 3; ++k) {
      int at = p * 2 - 2 + k * 2;
      if (at >= 0 && at < L) acc += x[(b * C + c) * L + at] * w[(o * C + c) * 3 + k];
    }
  }
  y[idx] = acc;
}
