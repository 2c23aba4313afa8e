// The first lane reads what the others of its warp have just written; nothing says that they have.
// task: distances_of_rows
// verdict: race
__device__ float part[4096 * 32];
__global__ void distance(const float* a, const float* b, float* y, int n) {
  a += (size_t)blockIdx.x * n;
  b += (size_t)blockIdx.x * n;
  float* own = part + 32 * blockIdx.x;
  float sum = 0;
  for (int j = threadIdx.x; j < n; j += 32) sum += (a[j] - b[j]) * (a[j] - b[j]);
  own[threadIdx.x] = sum;
  if (threadIdx.x != 0) return;
  for (int k = 1; k < 32; ++k) sum += own[k];
  y[blockIdx.x] = sqrtf(sum);
}
