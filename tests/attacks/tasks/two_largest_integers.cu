/* hone {"name": "attacked_two_largest_integers", "sizes": {"ROWS": 256, "COLS": 2048}, "check_sizes": [{"ROWS": 33, "COLS": 100}, {"ROWS": 9, "COLS": 257}],
  "buffers": [{"name": "x", "type": "i32", "shape": ["ROWS", "COLS"], "fill": {"integers": [-1000000, 1000000]}}, {"name": "y", "type": "i32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "largest", "grid": ["ROWS"], "block": [32], "args": ["x", "y", "COLS"]}]} */
// The sum of the two largest numbers of each row.
__global__ void largest(const int* x, int* y, int cols) {
  x += (size_t)blockIdx.x * cols;
  int a = -2000000, b = -2000000;
  for (int c = threadIdx.x; c < cols; c += 32) {
    int v = x[c];
    b = max(b, min(a, v));
    a = max(a, v);
  }
  for (int d = 16; d; d /= 2) {
    int v = __shfl_xor_sync(~0u, a, d), u = __shfl_xor_sync(~0u, b, d);
    b = max(max(b, u), min(a, v));
    a = max(a, v);
  }
  if (threadIdx.x == 0) y[blockIdx.x] = a + b;
}
