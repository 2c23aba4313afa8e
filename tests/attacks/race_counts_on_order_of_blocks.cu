// A block adds to what the block before it has written, and trusts that it ran before.
// task: prefix_of_blocks
// verdict: race wrong_result uninitialised fault
__device__ float before[1 << 16];
__global__ void prefix(const float* x, float* y, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  float v = i < n ? x[i] : 0, s = v;
  for (int k = 16; k > 0; k /= 2) s += __shfl_xor_sync(~0u, s, k);
  float earlier = blockIdx.x > 0 ? before[blockIdx.x - 1] : 0;
  if (threadIdx.x == 0) before[blockIdx.x] = earlier + s;
  if (i < n) y[i] = earlier + s;
}
