// Two counters in a word: one of them runs over into the other where a key is frequent.
// task: counts_of_keys
// verdict: wrong_result
/* hone {"launches": [{"kernel": "zero", "grid": [1], "block": [256], "args": ["count"]},
               {"kernel": "counts", "grid": [132], "block": [512], "args": ["key", "count", "N"]}]} */
__global__ void zero(unsigned* count) { count[threadIdx.x] = 0; }
__global__ void counts(const unsigned char* key, unsigned* count, int n) {
  __shared__ unsigned own[128];
  if (threadIdx.x < 128) own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 512 + threadIdx.x; i < n; i += gridDim.x * 512)
    atomicAdd(&own[key[i] & 127], key[i] & 128 ? 65536u : 1u);
  __syncthreads();
  if (threadIdx.x < 128) {
    atomicAdd(&count[threadIdx.x], own[threadIdx.x] & 65535u);
    atomicAdd(&count[threadIdx.x + 128], own[threadIdx.x] >> 16);
  }
}
