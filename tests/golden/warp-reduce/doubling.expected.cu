// launch reduce grid=(ceildiv(N,256)) block=(256) args=(x, out, N)
__global__ void reduce(const float* x, float* out, int n) {
  __shared__ float sm[256];
  int tid = threadIdx.x;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  sm[tid] = i < n ? x[i] : 0.0f;
  __syncthreads();
  {
    float sm_value = sm[threadIdx.x];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      const float other = __shfl_down_sync(0xffffffffu, sm_value, offset);
      sm_value += other;
    }
    __shared__ float sm_warps[8];
    if (threadIdx.x % 32 == 0) {
      sm_warps[threadIdx.x / 32] = sm_value;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
      sm_value = sm_warps[threadIdx.x % 8];
#pragma unroll
      for (int offset = 4; offset > 0; offset /= 2) {
        const float other = __shfl_down_sync(0xffffffffu, sm_value, offset);
        sm_value += other;
      }
      if (threadIdx.x == 0) {
        sm[0] = sm_value;
      }
    }
    __syncthreads();
  }

  if (tid == 0) out[blockIdx.x] = sm[0];
}
