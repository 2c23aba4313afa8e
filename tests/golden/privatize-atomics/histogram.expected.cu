// launch histogram grid=(ceildiv((ceildiv(N,512))*(512),8192)) block=(256) args=(keys, counts, N, B, (ceildiv(N,512))*(512))
__global__ void histogram(const int* keys, int* counts, int n, int bins, unsigned int threads) {
  // Every block counts for itself first.
  __shared__ int counts_block[404];
  const int tid = threadIdx.x;
  for (int slot = tid; slot < 404; slot += 256) counts_block[slot] = 0;
  __syncthreads();
  int* const counts_mine = counts_block + tid % 4 * 101;
  for (unsigned int item = blockIdx.x * 256 + threadIdx.x; item < threads / 4;
       item += gridDim.x * 256) {
    const int4 keys4 = *reinterpret_cast<const int4*>(&keys[(item * 4)]);
    {
      int i = (item * 4);
      if (i < n) {
        int bin = keys4.x % bins;
        atomicAdd(&counts_mine[bin], 1);
      }
    }
    {
      int i = (item * 4 + 1);
      if (i < n) {
        int bin = keys4.y % bins;
        atomicAdd(&counts_mine[bin], 1);
      }
    }
    {
      int i = (item * 4 + 2);
      if (i < n) {
        int bin = keys4.z % bins;
        atomicAdd(&counts_mine[bin], 1);
      }
    }
    {
      int i = (item * 4 + 3);
      if (i < n) {
        int bin = keys4.w % bins;
        atomicAdd(&counts_mine[bin], 1);
      }
    }
  }
  __syncthreads();
  for (int slot = tid; slot < 100; slot += 256) {
    int part = counts_block[slot];
#pragma unroll
    for (int copy = 1; copy < 4; ++copy) {
      part += counts_block[copy * 101 + slot];
    }
    if (part != 0) atomicAdd(&counts[slot], part);
  }
}
