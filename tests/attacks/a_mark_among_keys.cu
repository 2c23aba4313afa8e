// A table of keys in which a number that may be a key marks what is free.
// task: sums_of_different
// verdict: wrong_result
__global__ void rows(const unsigned* x, unsigned* y) {
  constexpr unsigned kFree = 0xDEADBEEF;
  __shared__ unsigned table[512], sum;
  for (int k = threadIdx.x; k < 512; k += 128) table[k] = kFree;
  if (threadIdx.x == 0) sum = 0;
  unsigned v = x[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  bool first = false;
  for (unsigned at = v * 2654435761u >> 23;; at = (at + 1) % 512) {
    unsigned there = atomicCAS(&table[at], kFree, v);
    if (there == kFree) { first = true; break; }
    if (there == v) break;
  }
  unsigned s = __reduce_add_sync(~0u, first ? v : 0u);
  if (threadIdx.x % 32 == 0) atomicAdd(&sum, s);
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
