/* hone {"name": "attacked_mixed_words", "sizes": {"N": 33792, "R": 8192}, "check_sizes": [{"N": 1024, "R": 64}, {"N": 512, "R": 128}],
  "constraints": ["N % 512 == 0", "R % 64 == 0"],
  "buffers": [{"name": "x", "type": "u32", "shape": ["N"], "fill": {"integers": [0, 4294967295]}},
              {"name": "y", "type": "u32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "mix", "grid": ["N/256"], "block": [256], "args": ["x", "y", "N", "R"]}]} */
// Each word through R rounds.
__global__ void mix(const unsigned* x, unsigned* y, int n, int r) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned v = x[i];
  for (int k = 0; k < r; ++k) v = v * 747796405u + (v >> 9);
  y[i] = v;
}
