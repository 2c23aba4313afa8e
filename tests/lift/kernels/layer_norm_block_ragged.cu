/* hone
{ "name": "layer_norm_block_ragged",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 4, "N": 75}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "g", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "ln", "grid": ["M"], "block": [32], "args": ["x", "g", "y", "N"]} ] }
*/
// lift: yes

__global__ void ln(const float* x, const float* g, float* y, int n) {
  __shared__ float s1[32], s2[32];
  const float* row = x + blockIdx.x * n;
  float a = 0, b = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    a += row[i];
    b += row[i] * row[i];
  }
  s1[threadIdx.x] = a;
  s2[threadIdx.x] = b;
  __syncthreads();
  for (int w = 16; w > 0; w /= 2) {
    if (threadIdx.x < w) {
      s1[threadIdx.x] += s1[threadIdx.x + w];
      s2[threadIdx.x] += s2[threadIdx.x + w];
    }
    __syncthreads();
  }
  float mean = s1[0] / n, var = s2[0] / n - mean * mean;
  float inv = rsqrtf(var + 1e-5f);
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = (row[i] - mean) * inv * g[i];
}
