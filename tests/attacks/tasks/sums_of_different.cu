/* hone {"name": "attacked_sums_of_different", "sizes": {"ROWS": 8192}, "check_sizes": [{"ROWS": 40}, {"ROWS": 9}],
  "buffers": [{"name": "x", "type": "u32", "shape": ["ROWS", 128], "fill": {"integers": [0, 4294967295]}}, {"name": "y", "type": "u32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "rows", "grid": ["ROWS"], "block": [128], "args": ["x", "y"]}]} */
// The sum of the different numbers of a row.
__global__ void rows(const unsigned* x, unsigned* y) {
  __shared__ unsigned a[128], sum;
  a[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  bool first = true;
  for (int k = 0; k < threadIdx.x; ++k) first = first && a[k] != a[threadIdx.x];
  if (first) atomicAdd(&sum, a[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
