// Honest: the intrinsic exponential, and a product with the inverse of the sum.
// task: loose_softmax
// verdict: ok
/* hone {"launches": [{"kernel": "softmax", "grid": ["M"], "block": [128], "args": ["x", "y", "N"]}]} */
__device__ float all(float v, bool most, float* part) {
  for (int d = 16; d; d /= 2) {
    float o = __shfl_xor_sync(~0u, v, d);
    v = most ? fmaxf(v, o) : v + o;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  v = part[0];
  for (int w = 1; w < 4; ++w) v = most ? fmaxf(v, part[w]) : v + part[w];
  return v;
}
__global__ void softmax(const float* x, float* y, int n) {
  __shared__ float part[4];
  x += (size_t)blockIdx.x * n;
  y += (size_t)blockIdx.x * n;
  float most = x[0], sum = 0;
  for (int j = threadIdx.x; j < n; j += 128) most = fmaxf(most, x[j]);
  most = all(most, true, part);
  for (int j = threadIdx.x; j < n; j += 128) sum += __expf(x[j] - most);
  sum = __fdividef(1, all(sum, false, part));
  for (int j = threadIdx.x; j < n; j += 128) y[j] = __expf(x[j] - most) * sum;
}
