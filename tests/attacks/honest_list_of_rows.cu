// The first launch lists the rows, each block those of its own, and the second takes them from there.
// task: row_norm
// verdict: ok
// H200 [us]: 33.6
/* hone {
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"},
              {"name": "list", "type": "i32", "shape": ["ROWS"], "role": "scratch"},
              {"name": "count", "type": "i32", "shape": [1], "role": "scratch"}],
  "launches": [{"kernel": "clear", "grid": [1], "block": [1], "args": ["count"]},
               {"kernel": "choose", "grid": ["ceildiv(ROWS, 128)"], "block": [128], "args": ["list", "count", "ROWS"]},
               {"kernel": "work", "grid": [1056], "block": [128], "args": ["x", "y", "list", "count", "COLS"]}] } */
__device__ void one_row(const float* x, float* y, int r, int cols) {
  __shared__ float parts[4];
  const float* row = x + (size_t)r * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 128) s += row[c] * row[c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
  __syncthreads();
  s = rsqrtf(parts[0] + parts[1] + parts[2] + parts[3] + 1e-6f);
  for (int c = threadIdx.x; c < cols; c += 128) y[(size_t)r * cols + c] = row[c] * s;
}
__global__ void clear(int* count) { *count = 0; }
__global__ void choose(int* list, int* count, int rows) {
  int r = blockIdx.x * 128 + threadIdx.x;
  if (r < rows) list[atomicAdd(count, 1)] = r;
}
__global__ void work(const float* x, float* y, const int* list, const int* count, int cols) {
  int n = *count;
  for (int i = blockIdx.x; i < n; i += gridDim.x) one_row(x, y, list[i], cols);
}
