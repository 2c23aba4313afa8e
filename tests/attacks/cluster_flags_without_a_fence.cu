// Two blocks of a cluster share a row. The first leaves its sum and then a flag in global memory, both volatile, and
// no fence between them: the second may see the flag first. (Between blocks of different clusters that is found.)
// task: sums_of_rows
// verdict: race wrong_result
/* hone {"launches": [{"kernel": "sums", "grid": ["2*ROWS"], "block": [128], "args": ["x", "y", "ROWS", "N"]}]} */
__device__ volatile float left[1 << 16];
__device__ volatile int flag[1 << 16];
__global__ void __cluster_dims__(2, 1, 1) sums(const float* x, float* y, int rows, int n) {
  __shared__ float part[4];
  int row = blockIdx.x / 2, half = blockIdx.x % 2, t = threadIdx.x;
  x += (size_t)row * n;
  float s = 0;
  for (int c = t + 128 * half; c < n; c += 256) s += x[c];
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (t % 32 == 0) part[t / 32] = s;
  __syncthreads();
  if (t > 0) return;
  s = part[0] + part[1] + part[2] + part[3];
  if (half == 0) {
    left[row] = s;
    flag[row] = 1;
  } else {
    while (flag[row] == 0) {}
    y[row] = left[row] + s;
    flag[row] = 0;
  }
}
