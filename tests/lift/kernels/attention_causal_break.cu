/* hone
{ "name": "attention_causal_break",
  "sizes": {"S": 256, "D": 64},
  "check_sizes": [{"S": 19, "D": 8}],
  "buffers": [
    {"name": "q", "type": "f32", "shape": ["S", "D"]},
    {"name": "k", "type": "f32", "shape": ["S", "D"]},
    {"name": "v", "type": "f32", "shape": ["S", "D"]},
    {"name": "o", "type": "f32", "shape": ["S", "D"], "role": "out"} ],
  "launches": [
    {"kernel": "attn", "grid": ["ceildiv(S,16)"], "block": [16], "args": ["q", "k", "v", "o", "S", "D"]} ] }
*/
// lift: yes

// Rows after the diagonal are skipped by break; scores of a row go by a buffer of the output.
__global__ void attn(const float* q, const float* k, const float* v, float* o, int S, int D) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= S) return;
  float m = -1e30f, sum = 0;
  for (int j = 0; j < S; ++j) {
    if (j > i) break;
    float dot = 0;
    for (int e = 0; e < D; ++e) dot += q[i * D + e] * k[j * D + e];
    m = fmaxf(m, dot);
  }
  for (int j = 0; j < S; ++j) {
    if (j > i) break;
    float dot = 0;
    for (int e = 0; e < D; ++e) dot += q[i * D + e] * k[j * D + e];
    sum += expf(dot - m);
  }
  for (int d = 0; d < D; ++d) {
    float out = 0;
    for (int j = 0; j < S; ++j) {
      if (j > i) break;
      float dot = 0;
      for (int e = 0; e < D; ++e) dot += q[i * D + e] * k[j * D + e];
      out += expf(dot - m) / sum * v[j * D + d];
    }
    o[i * D + d] = out;
  }
}
