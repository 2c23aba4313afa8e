/* hone
{ "name": "batch_norm_inference",
  "sizes": {"B": 8, "C": 32, "H": 16, "W": 16},
  "check_sizes": [{"B": 2, "C": 5, "H": 7, "W": 9}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["B", "C", "H", "W"]},
    {"name": "mean", "type": "f32", "shape": ["C"]},
    {"name": "var", "type": "f32", "shape": ["C"], "fill": {"uniform": [0.5, 2]}},
    {"name": "g", "type": "f32", "shape": ["C"]},
    {"name": "b", "type": "f32", "shape": ["C"]},
    {"name": "y", "type": "f32", "shape": ["B", "C", "H", "W"], "role": "out"} ],
  "launches": [
    {"kernel": "bn", "grid": ["ceildiv(H*W,64)", "C", "B"], "block": [64],
     "args": ["x", "mean", "var", "g", "b", "y", "C", "H*W"]} ] }
*/
// lift: yes

__global__ void bn(const float* x, const float* mean, const float* var, const float* g,
                   const float* b, float* y, int C, int plane) {
  const int hw = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y, n = blockIdx.z;
  if (hw >= plane) return;
  const size_t at = (static_cast<size_t>(n) * C + c) * plane + hw;
  y[at] = g[c] * (x[at] - mean[c]) / sqrtf(var[c] + 1e-5f) + b[c];
}
