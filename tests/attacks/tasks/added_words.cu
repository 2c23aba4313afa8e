/* hone {"name": "attacked_added_words", "sizes": {"M": 4096, "W": 64}, "check_sizes": [{"M": 40, "W": 64}, {"M": 9, "W": 50}],
  "buffers": [{"name": "a", "type": "u32", "shape": ["M", "W"], "fill": {"integers": [0, 4294967295]}},
              {"name": "b", "type": "u32", "shape": ["M", "W"], "fill": {"integers": [0, 4294967295]}},
              {"name": "sum", "type": "u32", "shape": ["M", "W"], "role": "out"}],
  "launches": [{"kernel": "add", "grid": ["M"], "block": [64], "args": ["a", "b", "sum", "W"]}]} */
// Numbers of W words each, the lowest first: a + b + 1.
__global__ void add(const unsigned* a, const unsigned* b, unsigned* sum, int w) {
  if (threadIdx.x) return;
  unsigned long long carry = 1;
  for (int i = 0; i < w; ++i) {
    size_t at = (size_t)blockIdx.x * w + i;
    carry += (unsigned long long)a[at] + b[at];
    sum[at] = (unsigned)carry;
    carry >>= 32;
  }
}
