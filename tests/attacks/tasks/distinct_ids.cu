/* hone {"name": "attacked_distinct_ids", "sizes": {"ROWS": 512, "COLS": 96}, "check_sizes": [{"ROWS": 9, "COLS": 96}, {"ROWS": 5, "COLS": 70}],
  "buffers": [{"name": "id", "type": "i64", "shape": ["ROWS", "COLS"], "fill": {"integers": [500000000000, 600000000000]}},
              {"name": "many", "type": "i32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "distinct", "grid": ["ROWS"], "block": [128], "args": ["id", "many", "COLS"]}]} */
// How many different ids a row has, beside what its first id ends with.
__global__ void distinct(const long long* id, int* many, int cols) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const long long* row = id + (size_t)blockIdx.x * cols;
  int c = threadIdx.x, before = 0;
  if (c < cols) {
    for (int k = 0; k < c; ++k) before |= row[k] == row[c];
    if (!before) atomicAdd(&sum, 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) many[blockIdx.x] = sum + (int)(row[0] % 10) * 1000;
}
