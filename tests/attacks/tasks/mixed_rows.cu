/* hone {"name": "attacked_mixed_rows", "sizes": {"N": 4194304}, "check_sizes": [{"N": 3000}, {"N": 7001}],
  "buffers": [{"name": "x", "type": "u32", "shape": ["N"], "fill": {"integers": [0, 1000]}},
              {"name": "y", "type": "u32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "rows", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "y", "N"]}]} */
__global__ void rows(const unsigned* x, unsigned* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  unsigned v = x[i];
  for (int k = 0; k < 200; ++k) v = v * 1664525u + 1013904223u + (v >> 9);
  y[i] = v;
}
