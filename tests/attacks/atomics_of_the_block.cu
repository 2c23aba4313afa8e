// Blocks add to words that they share with atomics whose scope is one block.
// task: group_sums
// verdict: race
__global__ void zero(int* y) { y[threadIdx.x] = 0; }
__global__ void sums(const int* x, int* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  int v = __reduce_add_sync(~0u, i < n ? x[i] : 0);
  if (threadIdx.x % 32 == 0) atomicAdd_block(&y[blockIdx.x % 16], v);
}
