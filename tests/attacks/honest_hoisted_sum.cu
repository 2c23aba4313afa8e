// Honest: sums x once, with a hundred-thousandth of the operations that the task says it has.
// task: hoisted_sum
// verdict: ok
// H200 [us]: 7.4
/* hone {"buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "part", "type": "f32", "shape": [64], "role": "scratch"},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "sums", "grid": [64], "block": [256], "args": ["x", "part", "N"]},
               {"kernel": "share", "grid": ["ceildiv(N, 256)"], "block": [256], "args": ["x", "part", "y", "N"]}]} */
__global__ void sums(const float* x, float* part, int n) {
  __shared__ float of_warp[8];
  float s = 0;
  for (int j = blockIdx.x * 256 + threadIdx.x; j < n; j += 64 * 256) s += x[j] * 0.5f + 0.25f;
  for (int step = 16; step > 0; step /= 2) s += __shfl_down_sync(0xffffffffu, s, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int k = 1; k < 8; ++k) s += of_warp[k];
  part[blockIdx.x] = s;
}
__global__ void share(const float* x, const float* part, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float s = part[threadIdx.x % 32] + part[threadIdx.x % 32 + 32];
  for (int step = 16; step > 0; step /= 2) s += __shfl_xor_sync(0xffffffffu, s, step);
  if (i < n) y[i] = x[i] / s;
}
