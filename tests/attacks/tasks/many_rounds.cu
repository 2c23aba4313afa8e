/* hone {"name": "a6_many_rounds", "sizes": {"B": 8448, "R": 4096}, "check_sizes": [{"B": 6, "R": 64}, {"B": 4, "R": 128}],
  "constraints": ["R % 64 == 0"],
  "buffers": [{"name": "x", "type": "u32", "shape": ["B", 256], "fill": {"integers": [0, 4294967295]}}, {"name": "order", "type": "i32", "shape": ["B"], "fill": "permutation"},
              {"name": "y", "type": "u32", "shape": ["B", 256], "role": "out"}],
  "launches": [{"kernel": "mix", "grid": ["B"], "block": [256], "args": ["x", "order", "y", "R"]}]} */
// Each word through R rounds, and R / 64 more that begin with the block's place.
__global__ void mix(const unsigned* x, const int* order, unsigned* y, int r) {
  int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = x[i];
  for (int k = 0; k < r; ++k) y[i] = y[i] * 747796405u + (y[i] >> 9);
  y[i] += order[blockIdx.x];
  for (int k = 0; k < r / 64; ++k) y[i] = y[i] * 747796405u + (y[i] >> 9);
}
