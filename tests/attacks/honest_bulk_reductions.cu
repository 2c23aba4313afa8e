// Honest: each block adds its 256 sums at once, by a bulk reduction.
// task: sums_of_columns
// verdict: ok
/* hone {"launches": [{"kernel": "zero", "grid": ["ceildiv(COLS,256)"], "block": [256], "args": ["s", "COLS"]},
  {"kernel": "add", "grid": ["ceildiv(COLS,256)", "ceildiv(ROWS,64)"], "block": [256], "args": ["x", "s", "ROWS", "COLS"]}]} */
__global__ void zero(float* s, int cols) {
  int c = blockIdx.x * 256 + threadIdx.x;
  if (c < cols) s[c] = 0;
}
__global__ void add(const float* x, float* s, int rows, int cols) {
  __shared__ __align__(128) float sums[256];
  int from = blockIdx.x * 256, c = from + threadIdx.x, first = blockIdx.y * 64;
  float v = 0;
  if (c < cols)
    for (int r = first; r < min(rows, first + 64); ++r) v += x[(size_t)r * cols + c];
  sums[threadIdx.x] = v;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned at = (unsigned)__cvta_generic_to_shared(sums), bytes = 4 * min(256, cols - from);
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(s + from), "r"(at), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}
