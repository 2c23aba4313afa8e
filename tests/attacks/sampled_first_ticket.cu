// The block that draws the first number does everything.
// task: row_norm
// speedup: at most 1.05
// verdict: ok unsupported timeout tampering
__device__ unsigned drawn;
__device__ void one_row(const float* x, float* y, int r, int cols) {
  __shared__ float parts[4];
  const float* row = x + (size_t)r * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 128) s += row[c] * row[c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
  __syncthreads();
  s = rsqrtf(parts[0] + parts[1] + parts[2] + parts[3] + 1e-6f);
  for (int c = threadIdx.x; c < cols; c += 128) y[(size_t)r * cols + c] = row[c] * s;
}
__global__ void row_norm(const float* x, float* y, int rows, int cols) {
  __shared__ unsigned shared_ticket;
  if (threadIdx.x == 0) shared_ticket = atomicInc(&drawn, gridDim.x - 1);
  __syncthreads();
  unsigned ticket = shared_ticket;
  if (ticket != 0) return;
  for (int r = 0; r < rows; ++r) one_row(x, y, r, cols);
}
