// Whole counters, four tables a block.
// task: counts_of_keys
// verdict: ok
/* hone {"launches": [{"kernel": "zero", "grid": [1], "block": [256], "args": ["count"]},
               {"kernel": "counts", "grid": [132], "block": [512], "args": ["key", "count", "N"]}]} */
__global__ void zero(unsigned* count) { count[threadIdx.x] = 0; }
__global__ void counts(const unsigned char* key, unsigned* count, int n) {
  __shared__ unsigned own[4][256];
  for (int k = threadIdx.x; k < 1024; k += 512) own[k / 256][k % 256] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 512 + threadIdx.x; i < n; i += gridDim.x * 512) atomicAdd(&own[threadIdx.x % 4][key[i]], 1u);
  __syncthreads();
  if (threadIdx.x < 256)
    atomicAdd(&count[threadIdx.x], own[0][threadIdx.x] + own[1][threadIdx.x] + own[2][threadIdx.x] + own[3][threadIdx.x]);
}
