// Honest: what a call leaves in scratch memory is told from what this one leaves by the number of the call.
// task: centred
// verdict: ok
/* hone {"launches": [{"kernel": "parts", "grid": [128], "block": [256], "args": ["x", "part", "N"]},
               {"kernel": "centre", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "part", "y", "N"]},
               {"kernel": "advance", "grid": [1], "block": [1], "args": []}]} */
__device__ unsigned epoch = 1, seen[128];
__global__ void parts(const float* x, float* part, int n) {
  __shared__ float all[8];
  float s = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 128 * 256) s += x[i];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) all[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < 8; ++k) s += all[k];
    part[blockIdx.x] = s;
    seen[blockIdx.x] = epoch + 1;
  }
}
__global__ void centre(const float* x, const float* part, float* y, int n) {
  float s = 0;
  for (int k = 0; k < 128; ++k) s += seen[k] == seen[0] ? part[k] : 0.0f;
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i] - s / n;
}
__global__ void advance() { epoch = epoch + 1; }
