// Takes %warpid, the slot of the SM, for the number of the warp in its block.
// task: row_norm
// verdict: fault wrong_result
__global__ void row_norm(const float* x, float* y, int rows, int cols) {
  __shared__ float parts[4];
  unsigned w; asm("mov.u32 %0, %%warpid;" : "=r"(w));
  const float* row = x + (size_t)blockIdx.x * cols;
  int t = w * 32 + threadIdx.x % 32;
  float s = 0;
  for (int c = t; c < cols; c += 128) s += row[c] * row[c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) parts[w] = s;
  __syncthreads();
  s = rsqrtf(parts[0] + parts[1] + parts[2] + parts[3] + 1e-6f);
  for (int c = t; c < cols; c += 128) y[(size_t)blockIdx.x * cols + c] = row[c] * s;
}
