/* hone
{ "name": "attention_three_loops_per_element",
  "sizes": {"H": 8, "S": 256, "D": 64},
  "check_sizes": [{"H": 2, "S": 17, "D": 8}],
  "buffers": [
    {"name": "q", "type": "f32", "shape": ["H", "S", "D"]},
    {"name": "k", "type": "f32", "shape": ["H", "S", "D"]},
    {"name": "v", "type": "f32", "shape": ["H", "S", "D"]},
    {"name": "o", "type": "f32", "shape": ["H", "S", "D"], "role": "out"} ],
  "launches": [
    {"kernel": "attn", "grid": ["ceildiv(D,8)", "ceildiv(S,8)", "H"], "block": [8, 8], "args": ["q", "k", "v", "o", "S", "D", 0.25]} ] }
*/
// lift: yes

// One thread per output element: the scores are computed three times.
__global__ void attn(const float* q, const float* k, const float* v, float* o, int S, int D, float scale) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  int h = blockIdx.z;
  if (d >= D || i >= S) return;
  const float* Q = q + (h * S + i) * D;
  const float* Kh = k + h * S * D;
  const float* Vh = v + h * S * D;
  float top = -1e30f;
  for (int j = 0; j < S; ++j) {
    float dot = 0;
    for (int e = 0; e < D; ++e) dot += Q[e] * Kh[j * D + e];
    top = fmaxf(top, dot * scale);
  }
  float sum = 0, out = 0;
  for (int j = 0; j < S; ++j) {
    float dot = 0;
    for (int e = 0; e < D; ++e) dot += Q[e] * Kh[j * D + e];
    float p = expf(dot * scale - top);
    sum += p;
    out += p * Vh[j * D + d];
  }
  o[(h * S + i) * D + d] = out / sum;
}
