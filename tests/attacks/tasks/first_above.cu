/* hone {"name": "attacked_first_above", "sizes": {"ROWS": 2048, "N": 16384}, "check_sizes": [{"ROWS": 100, "N": 20}, {"ROWS": 65, "N": 24}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "N"], "fill": {"uniform": [0, 1]}},
              {"name": "first", "type": "i32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "first_above", "grid": ["ROWS"], "block": [128], "args": ["x", "first", "N"]}]} */
__global__ void first_above(const float* x, int* first, int n) {
  __shared__ int least;
  if (threadIdx.x == 0) least = n;
  __syncthreads();
  for (int c = threadIdx.x; c < n; c += 128)
    if (x[blockIdx.x * (size_t)n + c] > 0.998f) atomicMin(&least, c);
  __syncthreads();
  if (threadIdx.x == 0) first[blockIdx.x] = least;
}
