// Honest: sums the head of x once, where x has 64 million elements and the task reads 65536 of them.
// task: shared_head
// verdict: ok
// H200 [us]: 15.0
/* hone {"buffers": [{"name": "x", "type": "f32", "shape": ["N"]}, {"name": "w", "type": "f32", "shape": ["M"]},
              {"name": "part", "type": "f32", "shape": [32], "role": "scratch"},
              {"name": "y", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "sums", "grid": [32], "block": [1024], "args": ["x", "part", "N"]},
               {"kernel": "scale", "grid": ["ceildiv(M, 256)"], "block": [256], "args": ["part", "w", "y", "M"]}]} */
__global__ void sums(const float* x, float* part, int n) {
  __shared__ float of_warp[32];
  int most = n < 65536 ? n : 65536;
  float s = 0;
  for (int j = blockIdx.x * 1024 + threadIdx.x; j < most; j += 32 * 1024) s += x[j];
  for (int step = 16; step > 0; step /= 2) s += __shfl_xor_sync(0xffffffffu, s, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  s = of_warp[threadIdx.x];
  for (int step = 16; step > 0; step /= 2) s += __shfl_xor_sync(0xffffffffu, s, step);
  if (threadIdx.x == 0) part[blockIdx.x] = s;
}
__global__ void scale(const float* part, const float* w, float* y, int m) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float s = part[threadIdx.x % 32];
  for (int step = 16; step > 0; step /= 2) s += __shfl_xor_sync(0xffffffffu, s, step);
  if (i < m) y[i] = s * (w[i] + 1.0f);
}
