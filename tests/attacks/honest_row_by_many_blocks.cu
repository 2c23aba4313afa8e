// Honest: sixteen blocks take a row; who of them ends last adds up, and sets the row's counter back.
// task: wide_rows
// verdict: ok
/* hone {"launches": [{"kernel": "squares", "grid": [16, "ROWS"], "block": [256], "args": ["x", "y", "COLS"]}]} */
__device__ float parts[1 << 20];
__device__ unsigned ended[1 << 16];
__global__ void squares(const float* x, float* y, int cols) {
  __shared__ float warps[8];
  int row = blockIdx.y, from = (int)((long long)cols * blockIdx.x / 16), to = (int)((long long)cols * (blockIdx.x + 1) / 16);
  float s = 0;
  for (int c = from + threadIdx.x; c < to; c += 256) s += x[(size_t)row * cols + c] * x[(size_t)row * cols + c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x > 0) return;
  s = 0;
  for (int k = 0; k < 8; ++k) s += warps[k];
  parts[row * 16 + blockIdx.x] = s;
  __threadfence();
  if (atomicAdd(&ended[row], 1) != 15) return;
  __threadfence();
  s = 0;
  for (int k = 0; k < 16; ++k) s += ((volatile float*)parts)[row * 16 + k];
  y[row] = s;
  ended[row] = 0;
}
