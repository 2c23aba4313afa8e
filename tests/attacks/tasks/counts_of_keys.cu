/* hone {"name": "attacked_counts_of_keys", "sizes": {"N": 12582912}, "check_sizes": [{"N": 1500}, {"N": 4099}],
  "buffers": [{"name": "key", "type": "u8", "shape": ["N"]},
              {"name": "count", "type": "u32", "shape": [256], "role": "out"}],
  "launches": [{"kernel": "zero", "grid": [1], "block": [256], "args": ["count"]},
               {"kernel": "counts", "grid": [96], "block": [256], "args": ["key", "count", "N"]}]} */
__global__ void zero(unsigned* count) { count[threadIdx.x] = 0; }
__global__ void counts(const unsigned char* key, unsigned* count, int n) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&own[key[i]], 1u);
  __syncthreads();
  atomicAdd(&count[threadIdx.x], own[threadIdx.x]);
}
