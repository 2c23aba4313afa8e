/* hone {"name": "a6_words_of_threads", "sizes": {"B": 1056, "R": 256}, "check_sizes": [{"B": 6, "R": 8}, {"B": 4, "R": 16}],
  "buffers": [{"name": "x", "type": "u32", "shape": ["B", 256, 32], "fill": {"integers": [0, 4294967295]}},
              {"name": "y", "type": "u32", "shape": ["B", 256], "role": "out"}],
  "launches": [{"kernel": "mix", "grid": ["B"], "block": [256], "args": ["x", "y", "R"]}]} */
// The first of 32 words of each thread, through R rounds.
__global__ void mix(const unsigned* x, unsigned* y, int r) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned v = x[i * 32];
  for (int k = 0; k < r; ++k) {
    v = v * 747796405u + (v >> 9);
    if (k % 4 == 3) v += ((volatile const unsigned*)x)[i * 32] & 0;
  }
  y[i] = v;
}
