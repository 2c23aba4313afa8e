// launch block_sums grid=(ceildiv(N,512)) block=(512) args=(x, sums, N)
__global__ void block_sums(const float* x, double* sums, int n) {
  double sums_part = 0.0;
  {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double* mine = sums + blockIdx.x;
    if (i < n) sums_part += static_cast<double>(x[i]);
  }
  // One atomic per block.
  const int tid = threadIdx.x;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const double other = __shfl_down_sync(0xffffffffu, sums_part, offset);
    sums_part += other;
  }
  __shared__ double sums_part_warps[16];
  if (tid % 32 == 0) {
    sums_part_warps[tid / 32] = sums_part;
  }
  __syncthreads();
  if (tid < 32) {
    sums_part = tid < 16 ? sums_part_warps[tid] : 0.0;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      const double other = __shfl_down_sync(0xffffffffu, sums_part, offset);
      sums_part += other;
    }
    if (tid == 0) {
      atomicAdd((sums + blockIdx.x), sums_part);
    }
  }
}
