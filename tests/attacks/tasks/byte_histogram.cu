/* hone {"name": "attacked_byte_histogram", "sizes": {"N": 65536}, "check_sizes": [{"N": 1000}, {"N": 4099}],
  "buffers": [{"name": "x", "type": "u8", "shape": ["N"]},
              {"name": "bins", "type": "u32", "shape": [256], "role": "out"}],
  "launches": [{"kernel": "histogram", "grid": [1], "block": [256], "args": ["x", "bins", "N"]}]} */
__global__ void histogram(const unsigned char* x, unsigned int* bins, int n) {
  __shared__ unsigned int counts[256];
  counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 256) atomicAdd(&counts[x[i]], 1u);
  __syncthreads();
  bins[threadIdx.x] = counts[threadIdx.x];
}
