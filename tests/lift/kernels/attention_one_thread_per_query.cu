/* hone
{ "name": "attention_one_thread_per_query",
  "sizes": {"T": 128, "D": 64},
  "check_sizes": [{"T": 21, "D": 8}],
  "buffers": [
    {"name": "q", "type": "f32", "shape": ["T", "D"]},
    {"name": "k", "type": "f32", "shape": ["T", "D"]},
    {"name": "v", "type": "f32", "shape": ["T", "D"]},
    {"name": "o", "type": "f32", "shape": ["T", "D"], "role": "out"},
    {"name": "s", "type": "f32", "shape": ["T", "T"], "role": "scratch"} ],
  "launches": [
    {"kernel": "scores", "grid": ["ceildiv(T,16)", "ceildiv(T,16)"], "block": [16, 16],
     "args": ["q", "k", "s", "T", "D"]},
    {"kernel": "softmax", "grid": ["ceildiv(T,32)"], "block": [32],
     "args": ["s", "T"]},
    {"kernel": "mix", "grid": ["ceildiv(D,8)", "ceildiv(T,8)"], "block": [8, 8],
     "args": ["s", "v", "o", "T", "D"]} ] }
*/
// lift: yes

__global__ void scores(const float* q, const float* k, float* s, int T, int D) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= T || j >= T) return;
  float dot = 0;
  for (int d = 0; d < D; d++) dot += q[i * D + d] * k[j * D + d];
  s[i * T + j] = j <= i ? dot * rsqrtf((float)D) : -INFINITY;
}

// In place, each thread its own row.
__global__ void softmax(float* s, int T) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= T) return;
  float top = -INFINITY, sum = 0;
  for (int j = 0; j < T; j++) top = fmaxf(top, s[i * T + j]);
  for (int j = 0; j < T; j++) sum += expf(s[i * T + j] - top);
  for (int j = 0; j < T; j++) s[i * T + j] = expf(s[i * T + j] - top) / sum;
}

__global__ void mix(const float* s, const float* v, float* o, int T, int D) {
  int d = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= T || d >= D) return;
  float sum = 0;
  for (int j = 0; j <= i; j++) sum += s[i * T + j] * v[j * D + d];
  o[i * D + d] = sum;
}
