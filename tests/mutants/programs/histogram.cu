/* hone
{
 "launches": [
  {
   "args": [
    "keys",
    "counts",
    "N",
    "BINS",
    "(ceildiv(N,512))*(512)"
   ],
   "block": [
    128
   ],
   "grid": [
    "ceildiv((ceildiv(N,512))*(512),512)"
   ],
   "kernel": "histogram",
   "shared_bytes": 0
  }
 ]
}
*/
// privatize-atomics(histogram/counts: block=128,copies=2,items=4)
// By hand: the rule writes the number of bins as a constant; here it is what the size says.

__global__ void histogram(const int* keys, int* counts, int n, int bins, unsigned int threads) {
  // Every block counts for itself first.
  __shared__ int counts_block[2 * 257];
  const int tid_2 = threadIdx.x;
  const int stride = bins + 1;
  for (int slot = tid_2; slot < 2 * stride; slot += 128) counts_block[slot] = 0;
  __syncthreads();
  int* const counts_mine = counts_block + tid_2 % 2 * stride;
  for (unsigned int item = blockIdx.x * 128 + threadIdx.x; item < threads;
       item += gridDim.x * 128) {
    int tid = item;
    if (tid < n) {
      int bin = keys[tid] % bins;
      atomicAdd(&counts_mine[bin], 1);
    }
  }
  __syncthreads();
  for (int slot = tid_2; slot < bins; slot += 128) {
    int part = counts_block[slot];
#pragma unroll
    for (int copy = 1; copy < 2; ++copy) {
      part += counts_block[copy * stride + slot];
    }
    if (part != 0) atomicAdd(&counts[slot], part);
  }
}
