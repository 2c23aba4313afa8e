// Honest: columns in parts, of which four are added at once.
// task: column_totals
// verdict: ok
/* hone {"launches": [{"kernel": "clear", "grid": ["ceildiv(COLS,128)"], "block": [128], "args": ["y", "COLS"]}, {"kernel": "columns", "grid": ["ceildiv(COLS,128)", "ceildiv(ROWS,64)"], "block": [32], "args": ["x", "y", "ROWS", "COLS"]}]} */
__global__ void clear(float* y, int cols) {
  int c = blockIdx.x * 128 + threadIdx.x;
  if (c < cols) y[c] = 0;
}
__global__ void columns(const float* x, float* y, int rows, int cols) {
  int c = blockIdx.x * 128 + 4 * threadIdx.x, first = blockIdx.y * 64;
  if (c >= cols) return;
  float4 s = make_float4(0, 0, 0, 0);
  for (int r = first; r < rows && r < first + 64; ++r) {
    float4 v = *(const float4*)(x + (size_t)r * cols + c);
    s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w;
  }
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(y + c), "f"(s.x), "f"(s.y), "f"(s.z), "f"(s.w) : "memory");
}
