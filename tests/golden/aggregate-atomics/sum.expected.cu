// launch sum grid=(ceildiv((ceildiv(N,256))*(256),16384)) block=(256) args=(x, total, N, (ceildiv(N,256))*(256))
__global__ void sum(const float* x, float* total, int n, unsigned int threads) {
  float total_part = 0.0f;
  for (unsigned int item = blockIdx.x * 256 + threadIdx.x; item < threads / 4;
       item += gridDim.x * 256) {
    const float4 x4 = *reinterpret_cast<const float4*>(&x[(item * 4)]);
    {
      int i = (item * 4);
      if (i < n) {
        total_part += (x4.x);
      }
    }
    {
      int i = (item * 4 + 1);
      if (i < n) {
        total_part += (x4.y);
      }
    }
    {
      int i = (item * 4 + 2);
      if (i < n) {
        total_part += (x4.z);
      }
    }
    {
      int i = (item * 4 + 3);
      if (i < n) {
        total_part += (x4.w);
      }
    }
  }
  // One atomic per block.
  const int tid = threadIdx.x;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_down_sync(0xffffffffu, total_part, offset);
    total_part += other;
  }
  __shared__ float total_part_warps[8];
  if (tid % 32 == 0) {
    total_part_warps[tid / 32] = total_part;
  }
  __syncthreads();
  if (tid < 32) {
    total_part = tid < 8 ? total_part_warps[tid] : 0.0f;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      const float other = __shfl_down_sync(0xffffffffu, total_part, offset);
      total_part += other;
    }
    if (tid == 0) {
      atomicAdd(total, total_part);
    }
  }
}
