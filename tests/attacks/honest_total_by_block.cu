// One atomic a block.
// task: total
// verdict: ok
// H200 [us]: 7.7
__global__ void total_of(const int* a, int* total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = __reduce_add_sync(0xffffffff, i < n ? (unsigned)a[i] : 0u);
  __shared__ int sums[8];
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    int block = 0;
    for (int w = 0; w < 8; ++w) block += sums[w];
    atomicAdd(total, block);
  }
}
