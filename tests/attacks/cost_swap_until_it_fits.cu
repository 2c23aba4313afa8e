// A loop of compare-and-swaps that all blocks are in.
// task: total
// verdict: ok
// H200 [us]: 94627
// speedup: at most 1.05
__global__ void total_of(const int* a, int* total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = __reduce_add_sync(0xffffffff, i < n ? (unsigned)a[i] : 0u);
  if (threadIdx.x % 32 == 0) {
    int old = *(volatile int*)total, seen;
    do {
      seen = old;
      old = atomicCAS(total, seen, seen + sum);
    } while (old != seen);
  }
}
