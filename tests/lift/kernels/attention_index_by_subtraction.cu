/* hone
{ "name": "attention_index_by_subtraction",
  "sizes": {"B": 2, "H": 8, "S": 512, "D": 64},
  "check_sizes": [{"B": 2, "H": 3, "S": 17, "D": 8}, {"B": 1, "H": 2, "S": 32, "D": 16}],
  "buffers": [
    {"name": "q", "type": "f32", "shape": ["B", "H", "S", "D"]},
    {"name": "k", "type": "f32", "shape": ["B", "H", "S", "D"]},
    {"name": "v", "type": "f32", "shape": ["B", "H", "S", "D"]},
    {"name": "out", "type": "f32", "shape": ["B", "H", "S", "D"], "role": "out"} ],
  "launches": [
    {"kernel": "attention", "grid": ["ceildiv(B*H*S,128)"], "block": [128], "args": ["q", "k", "v", "out", "B", "H", "S", "D"]} ] }
*/
// lift: yes

__global__ void attention(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx >= B * H * S) return;
  int b = idx / (H * S);
  int h = (idx - b * H * S) / S;
  int row = idx - b * H * S - h * S;
  int base = b * H * S * D + h * S * D;
  float scale = rsqrtf((float)D);
  float best = -INFINITY;
  for (int t = 0; t < S; t++) {
    float dot = 0;
    for (int d = 0; d < D; d++) dot += q[base + row * D + d] * k[base + t * D + d];
    best = fmaxf(best, dot * scale);
  }
  float sum = 0;
  for (int t = 0; t < S; t++) {
    float dot = 0;
    for (int d = 0; d < D; d++) dot += q[base + row * D + d] * k[base + t * D + d];
    sum += expf(dot * scale - best);
  }
  for (int e = 0; e < D; e++) {
    float acc = 0;
    for (int t = 0; t < S; t++) {
      float dot = 0;
      for (int d = 0; d < D; d++) dot += q[base + row * D + d] * k[base + t * D + d];
      acc += expf(dot * scale - best) / sum * v[base + t * D + e];
    }
    out[base + row * D + e] = acc;
  }
}
