/* hone
{ "name": "attention_block_per_query_causal",
  "sizes": {"H": 8, "S": 256, "D": 64},
  "check_sizes": [{"H": 2, "S": 19, "D": 8}],
  "buffers": [
    {"name": "q", "type": "f32", "shape": ["H", "S", "D"]},
    {"name": "k", "type": "f32", "shape": ["H", "S", "D"]},
    {"name": "v", "type": "f32", "shape": ["H", "S", "D"]},
    {"name": "o", "type": "f32", "shape": ["H", "S", "D"], "role": "out"} ],
  "launches": [
    {"kernel": "attn", "grid": ["S", "H"], "block": [32], "args": ["q", "k", "v", "o", "S", "D", 0.25], "shared_bytes": "4*S"} ] }
*/
// lift: yes

// The scores of a row in shared memory; thread 0 finds maximum and sum.
__global__ void attn(const float* q, const float* k, const float* v, float* o, int S, int D, float scale) {
  extern __shared__ float scores[];
  __shared__ float top, total;
  int i = blockIdx.x, h = blockIdx.y;
  q += (h * S + i) * D, k += h * S * D, v += h * S * D;
  for (int j = threadIdx.x; j < S; j += blockDim.x) {
    float dot = 0;
    for (int e = 0; e < D; ++e) dot += q[e] * k[j * D + e];
    scores[j] = j <= i ? dot * scale : -1e30f;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    float m = -1e30f, s = 0;
    for (int j = 0; j < S; ++j) m = fmaxf(m, scores[j]);
    for (int j = 0; j < S; ++j) s += expf(scores[j] - m);
    top = m;
    total = s;
  }
  __syncthreads();
  for (int d = threadIdx.x; d < D; d += blockDim.x) {
    float out = 0;
    for (int j = 0; j < S; ++j) out += expf(scores[j] - top) / total * v[j * D + d];
    o[(h * S + i) * D + d] = out;
  }
}
