/* hone {"name": "attacked_roots_of_words", "sizes": {"N": 131072}, "check_sizes": [{"N": 300}, {"N": 517}],
  "buffers": [{"name": "x", "type": "u64", "shape": ["N"], "fill": {"integers": [0, 4000000000000000000]}}, {"name": "y", "type": "u32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "roots", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]} */
__global__ void roots(const unsigned long long* x, unsigned* y, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  unsigned long long v = x[i], r = 0;
  for (int b = 30; b >= 0; --b) {
    unsigned long long t = r | 1ull << b;
    if (t * t <= v) r = t;
  }
  y[i] = (unsigned)r;
}
