// Honest: column by column; what is known goes into all sums below at once.
// task: solved_rows
// verdict: ok
__global__ void solve(const float* L, const float* b, float* x, int n) {
  __shared__ float rest[1024];
  for (int i = threadIdx.x; i < n; i += 128) rest[i] = b[(size_t)blockIdx.x * n + i];
  for (int k = 0; k < n; ++k) {
    __syncthreads();
    float known = rest[k] / L[(size_t)k * n + k];
    if (threadIdx.x == 0) x[(size_t)blockIdx.x * n + k] = known;
    for (int i = k + 1 + threadIdx.x; i < n; i += 128) rest[i] -= L[(size_t)i * n + k] * known;
  }
}
