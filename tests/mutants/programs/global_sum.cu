/* hone
{
 "launches": [
  {
   "args": [
    "data",
    "total",
    "N",
    "(ceildiv(N,256))*(256)"
   ],
   "block": [
    128
   ],
   "grid": [
    "ceildiv((ceildiv(N,256))*(256),512)"
   ],
   "kernel": "sum_all",
   "shared_bytes": 0
  }
 ]
}
*/
// aggregate-atomics(sum_all: block=128,items=4,level=block)

// Every element goes straight to the one total.
__global__ void sum_all(const float* data, float* total, int n, unsigned int threads) {
  float total_part = 0.0f;
  for (unsigned int item = blockIdx.x * 128 + threadIdx.x; item < threads;
       item += gridDim.x * 128) {
    int i = item;
    if (i < n) {
      total_part += (data[i]);
    }
  }
  // One atomic per block.
  const int tid = threadIdx.x;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_down_sync(0xffffffffu, total_part, offset);
    total_part += other;
  }
  __shared__ float total_part_warps[4];
  if (tid % 32 == 0) {
    total_part_warps[tid / 32] = total_part;
  }
  __syncthreads();
  if (tid < 32) {
    total_part = tid < 4 ? total_part_warps[tid] : 0.0f;
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
