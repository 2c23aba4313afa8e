// launch scatter grid=(128) block=(256) args=(keys, w, table, N, B)
__global__ void scatter(const int* keys, const float* w, float* table, int n, int bins) {
  // Every block counts for itself first.
  __shared__ float table_block[100];
  const int tid = threadIdx.x;
  for (int slot = tid; slot < 100; slot += 256) table_block[slot] = 0.0f;
  __syncthreads();
  {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
      int k = keys[i];
      if (k < bins) atomicAdd(table_block + k, w[i]);
    }
  }
  __syncthreads();
  for (int slot = tid; slot < 100; slot += 256) {
    float part = table_block[slot];
    if (part != 0.0f) atomicAdd(&table[slot], part);
  }
}
