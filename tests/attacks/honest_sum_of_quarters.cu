// Honest: the total in two launches, partial sums of 1,024 elements each, added in order.
// task: last_block_sum
// verdict: ok
/* hone {"buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [0, 1]}}, {"name": "p", "type": "f32", "shape": ["ceildiv(N,1024)"], "role": "scratch"}, {"name": "y", "type": "f32", "shape": [1], "role": "out"}],
  "launches": [{"kernel": "parts", "grid": ["ceildiv(N,1024)"], "block": [256], "args": ["x", "p", "N"]}, {"kernel": "out", "grid": [1], "block": [1], "args": ["p", "y", "ceildiv(N,1024)"]}]} */
__global__ void parts(const float* x, float* p, int n) {
  __shared__ float all[8];
  float s = 0;
  for (int k = 0; k < 4; ++k) { int i = blockIdx.x * 1024 + k * 256 + threadIdx.x; if (i < n) s += x[i]; }
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) all[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x > 0) return;
  s = 0;
  for (int k = 0; k < 8; ++k) s += all[k];
  p[blockIdx.x] = s;
}
__global__ void out(const float* p, float* y, int n) { float s = 0; for (int k = 0; k < n; ++k) s += p[k]; y[0] = s; }
