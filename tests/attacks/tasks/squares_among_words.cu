/* hone {"name": "attacked_squares_among_words", "sizes": {"N": 131072}, "check_sizes": [{"N": 300}, {"N": 517}],
  "buffers": [{"name": "x", "type": "u32", "shape": ["N"], "fill": {"integers": [0, 4294967295]}}, {"name": "y", "type": "u32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "squares", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]} */
// How far a number is from the square below it.
__global__ void squares(const unsigned* x, unsigned* y, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  unsigned v = x[i], r = 0;
  for (int b = 15; b >= 0; --b) {
    unsigned t = r | 1u << b;
    if (t * t <= v) r = t;
  }
  y[i] = v - r * r;
}
