/* hone {"name": "attacked_integer_rows", "sizes": {"ROWS": 4096, "COLS": 16384}, "check_sizes": [{"ROWS": 40, "COLS": 300}, {"ROWS": 17, "COLS": 257}],
  "buffers": [{"name": "x", "type": "i32", "shape": ["ROWS", "COLS"], "fill": {"integers": [-1000, 1000]}},
              {"name": "sum", "type": "i32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "rows", "grid": ["ROWS"], "block": [128], "args": ["x", "sum", "COLS"]}]} */
__global__ void rows(const int* x, int* sum, int cols) {
  __shared__ int part[4];
  int s = 0;
  for (int c = threadIdx.x; c < cols; c += 128) s += x[(size_t)blockIdx.x * cols + c];
  for (int step = 16; step > 0; step /= 2) s += __shfl_down_sync(0xffffffffu, s, step);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) sum[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
