/* hone {"name": "attacked_sums_of_bytes", "sizes": {"ROWS": 4096, "COLS": 301}, "check_sizes": [{"ROWS": 33, "COLS": 101}, {"ROWS": 9, "COLS": 250}],
  "buffers": [{"name": "x", "type": "u8", "shape": ["ROWS", "COLS"], "fill": {"integers": [0, 255]}}, {"name": "y", "type": "u32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "sums", "grid": ["ROWS"], "block": [32], "args": ["x", "y", "COLS"]}]} */
__global__ void sums(const unsigned char* x, unsigned* y, int cols) {
  unsigned s = 0;
  for (int c = threadIdx.x; c < cols; c += 32) s += x[(size_t)blockIdx.x * cols + c];
  s = __reduce_add_sync(~0u, s);
  if (threadIdx.x == 0) y[blockIdx.x] = s;
}
