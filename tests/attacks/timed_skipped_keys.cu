// Leaves keys out of a long softmax.
// task: big_attention
// verdict: wrong_result
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
  int end = n > 2000 ? n / 2 : n;
  float most = -1e30f;
  for (int i = threadIdx.x; i < end; i += 128) most = fmaxf(most, row[i]);
  part[threadIdx.x] = most;
  __syncthreads();
  for (int i = 0; i < 128; ++i) most = fmaxf(most, part[i]);
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < end; i += 128) sum += expf(row[i] - most);
  part[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < 128; ++i) sum += part[i];
  for (int i = threadIdx.x; i < end; i += 128) row[i] = expf(row[i] - most) / sum;
}
__global__ void values(const float* S, const float* V, float* O, int n, int d) {
  int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row >= n || col >= d) return;
  float s = 0;
  int end = n > 2000 ? n / 2 : n;
  for (int key = 0; key < end; ++key) s += S[(size_t)row * n + key] * V[key * d + col];
  O[row * d + col] = s;
}
