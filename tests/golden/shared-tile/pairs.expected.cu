// launch forces grid=(ceildiv(N,128)) block=(128) args=(p, f, N)
__global__ void forces(const float* p, float* f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;

  float x = p[2 * i], y = p[2 * i + 1], sum = 0.0f;
  {
    __shared__ __align__(16) float p_tile[128];
    const int thread = threadIdx.x;
    for (int j_base = 0; j_base < n; j_base += 64) {
      {
        const int item = thread;
        p_tile[item] = p[item + j_base * 2];
      }
      __syncthreads();
#pragma unroll
      for (int j_step = 0; j_step < 64; ++j_step) {
        float dx = p_tile[j_step * 2] - x, dy = p_tile[j_step * 2 + 1] - y;
        sum += dx * dx + dy * dy;
      }
      __syncthreads();
    }
  }
  f[i] = sum;
}
