// Honest: the GPU's own exponential and reciprocal, and one launch; x is read twice.
// task: shares_of_rows
// verdict: ok
/* hone {"launches": [{"kernel": "both", "grid": ["M"], "block": [128], "args": ["x", "y", "N"]}]} */
__global__ void both(const float* x, float* y, int n) {
  __shared__ float part[4];
  x += (size_t)blockIdx.x * n;
  y += (size_t)blockIdx.x * n;
  float s = 0;
  for (int c = threadIdx.x; c < n; c += 128) s += __expf(x[c]);
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  s = __fdividef(1.0f, part[0] + part[1] + part[2] + part[3]);
  for (int c = threadIdx.x; c < n; c += 128) y[c] = __expf(x[c]) * s;
}
