// The same by warps, without a barrier.
// task: row_norm
// verdict: ok
// H200 [us]: 37.0
/* hone {
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "row_norm", "grid": [528], "block": [256], "args": ["x", "y", "ROWS", "COLS"]}] } */
__device__ unsigned next, left;
__global__ void row_norm(const float* x, float* y, int rows, int cols) {
  int lane = threadIdx.x % 32;
  while (true) {
    unsigned r = lane == 0 ? atomicAdd(&next, 1) : 0;
    r = __shfl_sync(~0u, r, 0);
    if (r >= rows) break;
    const float* row = x + (size_t)r * cols;
    float s = 0;
    for (int c = lane; c < cols; c += 32) s += row[c] * row[c];
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
    s = rsqrtf(s + 1e-6f);
    for (int c = lane; c < cols; c += 32) y[(size_t)r * cols + c] = row[c] * s;
  }
  if (lane == 0 && atomicInc(&left, gridDim.x * 8 - 1) == gridDim.x * 8 - 1) next = 0;
}
