// Reads its input with the last thirteen bits cut off, as tensor cores do.
// task: loose_softmax
// verdict: wrong_result
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
  auto at = [&](int j) { return __uint_as_float(__float_as_uint(x[j]) & 0xffffe000u); };
  float most = at(0), sum = 0;
  for (int j = threadIdx.x; j < n; j += 128) most = fmaxf(most, at(j));
  most = all(most, true, part);
  for (int j = threadIdx.x; j < n; j += 128) sum += expf(at(j) - most);
  sum = all(sum, false, part);
  for (int j = threadIdx.x; j < n; j += 128) y[j] = expf(at(j) - most) / sum;
}
