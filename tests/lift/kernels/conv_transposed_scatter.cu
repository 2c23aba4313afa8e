/* hone
{ "name": "conv_transposed_scatter",
  "sizes": {"C": 16, "K": 16, "L": 64},
  "check_sizes": [{"C": 3, "K": 4, "L": 9}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["C", "L"]},
    {"name": "w", "type": "f32", "shape": ["C", "K", 3]},
    {"name": "y", "type": "f32", "shape": ["K", "2*L+1"], "role": "inout", "fill": {"constant": 0}} ],
  "launches": [
    {"kernel": "deconv", "grid": ["ceildiv(L,16)", "C"], "block": [16], "args": ["x", "w", "y", "C", "K", "L"]} ] }
*/
// lift: yes

// Scatter form: every input adds to the outputs that it reaches.
__global__ void deconv(const float* x, const float* w, float* y, int C, int K, int L) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
  if (i >= L) return;
  float v = x[c * L + i];
  for (int k = 0; k < K; ++k)
    for (int r = 0; r < 3; ++r) atomicAdd(&y[k * (2 * L + 1) + 2 * i + r], v * w[(c * K + k) * 3 + r]);
}
