/* hone
{ "name": "attention_block_by_division",
  "sizes": {"B": 2, "H": 8, "S": 512, "D": 64},
  "check_sizes": [{"B": 2, "H": 3, "S": 17, "D": 8}],
  "buffers": [
    {"name": "q", "type": "f32", "shape": ["B", "H", "S", "D"]},
    {"name": "k", "type": "f32", "shape": ["B", "H", "S", "D"]},
    {"name": "v", "type": "f32", "shape": ["B", "H", "S", "D"]},
    {"name": "out", "type": "f32", "shape": ["B", "H", "S", "D"], "role": "out"} ],
  "launches": [
    {"kernel": "attention", "grid": ["B*H*S"], "block": ["D"], "args": ["q", "k", "v", "out", "B", "H", "S", "D"]} ] }
*/
// lift: yes

__global__ void attention(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D) {
  int bid = blockIdx.x;
  int b = bid / (H * S), h = bid % (H * S) / S, i = bid % S;
  int d = threadIdx.x;
  const float* qp = q + ((b * H + h) * S + i) * D;
  const float* kp = k + (b * H + h) * S * D;
  const float* vp = v + (b * H + h) * S * D;
  float m = -1e30f, l = 0.f, acc = 0.f;
  for (int j = 0; j < S; ++j) {
    float s = 0.f;
    for (int e = 0; e < D; ++e) s += qp[e] * kp[j * D + e];
    s /= sqrtf((float)D);
    float mn = fmaxf(m, s);
    float c = expf(m - mn), p = expf(s - mn);
    l = l * c + p;
    acc = acc * c + p * vp[j * D + d];
    m = mn;
  }
  out[((b * H + h) * S + i) * D + d] = acc / l;
}
