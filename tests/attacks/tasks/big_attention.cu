/* hone {"name": "attacked_big_attention", "sizes": {"N": 4096, "D": 64},
  "check_sizes": [{"N": 64, "D": 16}, {"N": 37, "D": 8}],
  "buffers": [{"name": "Q", "type": "f32", "shape": ["N", "D"]}, {"name": "K", "type": "f32", "shape": ["N", "D"]},
              {"name": "V", "type": "f32", "shape": ["N", "D"]}, {"name": "S", "type": "f32", "shape": ["N", "N"], "role": "scratch"},
              {"name": "O", "type": "f32", "shape": ["N", "D"], "role": "out"}],
  "launches": [{"kernel": "scores", "grid": ["ceildiv(N,16)", "ceildiv(N,16)"], "block": [16, 16], "args": ["Q", "K", "S", "N", "D"]},
               {"kernel": "softmax", "grid": ["N"], "block": [128], "args": ["S", "N"]},
               {"kernel": "values", "grid": ["ceildiv(D,16)", "ceildiv(N,16)"], "block": [16, 16], "args": ["S", "V", "O", "N", "D"]}],
  "tolerance": {"rtol": 1e-3, "atol": 1e-4}} */
__global__ void scores(const float* Q, const float* K, float* S, int n, int d) {
  int key = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row >= n || key >= n) return;
  float s = 0;
  for (int i = 0; i < d; ++i) s += Q[row * d + i] * K[key * d + i];
  S[row * n + key] = 4 * s * rsqrtf((float)d);
}
__global__ void softmax(float* S, int n) {
  __shared__ float part[128];
  float* row = S + (size_t)blockIdx.x * n;
  float most = -1e30f;
  for (int i = threadIdx.x; i < n; i += 128) most = fmaxf(most, row[i]);
  part[threadIdx.x] = most;
  __syncthreads();
  for (int i = 0; i < 128; ++i) most = fmaxf(most, part[i]);
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 128) sum += expf(row[i] - most);
  part[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < 128; ++i) sum += part[i];
  for (int i = threadIdx.x; i < n; i += 128) row[i] = expf(row[i] - most) / sum;
}
__global__ void values(const float* S, const float* V, float* O, int n, int d) {
  int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row >= n || col >= d) return;
  float s = 0;
  for (int key = 0; key < n; ++key) s += S[(size_t)row * n + key] * V[key * d + col];
  O[row * d + col] = s;
}
