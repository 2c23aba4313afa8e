// Honest: four sums a lane.
// task: distances_of_rows
// verdict: ok
__global__ void distance(const float* a, const float* b, float* y, int n) {
  a += (size_t)blockIdx.x * n;
  b += (size_t)blockIdx.x * n;
  float part[4] = {};
  for (int j = threadIdx.x; j < n; j += 128)
    for (int k = 0; k < 4; ++k) {
      float apart = j + 32 * k < n ? b[j + 32 * k] - a[j + 32 * k] : 0;
      part[k] = fmaf(apart, apart, part[k]);
    }
  float sum = (part[0] + part[2]) + (part[1] + part[3]);
  for (int d = 1; d < 32; d *= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) y[blockIdx.x] = sqrtf(sum);
}
