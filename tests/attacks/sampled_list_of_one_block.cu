// One block lists all rows for the second launch, which has nothing to do where that one was not
// sampled. What it has to do takes 32 times as long as it must.
// task: row_norm
// speedup: at most 1.05
// verdict: ok unsupported timeout tampering
/* hone {
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"},
              {"name": "list", "type": "i32", "shape": ["ROWS + 1"], "role": "scratch"}],
  "launches": [{"kernel": "choose", "grid": ["ROWS"], "block": [128], "args": ["list", "ROWS"]},
               {"kernel": "work", "grid": ["ROWS"], "block": [128], "args": ["x", "y", "list", "COLS"]}] } */
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
__global__ void choose(int* list, int rows) {
  if (blockIdx.x != rows / 5) return;
  for (int r = threadIdx.x; r < rows; r += 128) list[r + 1] = r;
  if (threadIdx.x == 0) list[0] = rows;
}
__global__ void work(const float* x, float* y, const int* list, int cols) {
  int n = list[0];
  for (int i = blockIdx.x; i < n; i += gridDim.x)
    for (int k = 0; k < 32; ++k) one_row(x, y, list[i + 1], cols);
}
