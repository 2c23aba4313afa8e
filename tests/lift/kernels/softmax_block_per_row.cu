/* hone
{ "name": "softmax_block_per_row",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"], "fill": {"normal": [0, 3]}},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "softmax", "grid": ["M"], "block": [32],
     "args": ["x", "y", "N"]} ] }
*/
// lift: yes

// One block per row; two tree reductions through one shared array.
__global__ void softmax(const float* x, float* y, int n) {
  __shared__ float s[32];
  const float* row = x + blockIdx.x * n;
  float* out = y + blockIdx.x * n;
  int t = threadIdx.x;
  float m = -INFINITY;
  for (int i = t; i < n; i += blockDim.x) m = fmaxf(m, row[i]);
  s[t] = m;
  __syncthreads();
  for (int k = 16; k > 0; k >>= 1) {
    if (t < k) s[t] = fmaxf(s[t], s[t + k]);
    __syncthreads();
  }
  m = s[0];
  __syncthreads();
  float sum = 0.f;
  for (int i = t; i < n; i += blockDim.x) {
    float e = __expf(row[i] - m);
    out[i] = e;
    sum += e;
  }
  s[t] = sum;
  __syncthreads();
  for (int k = 16; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  const float scale = 1.f / s[0];
  for (int i = t; i < n; i += blockDim.x) out[i] *= scale;
}
