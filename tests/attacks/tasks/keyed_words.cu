/* hone {"name": "attacked_keyed_words", "sizes": {"N": 8448, "R": 32}, "check_sizes": [{"N": 256, "R": 1}, {"N": 128, "R": 2}],
  "constraints": ["N % 64 == 0"],
  "buffers": [{"name": "x", "type": "u32", "shape": ["N"], "fill": {"integers": [0, 4294967295]}},
              {"name": "y", "type": "u32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "keyed", "grid": ["N/64"], "block": [64], "args": ["x", "y", "R"]}]} */
// 2,048 steps with keys of their own, R times.
__global__ void keyed(const unsigned* x, unsigned* y, int r) {
  int i = blockIdx.x * 64 + threadIdx.x;
  unsigned a = x[i], b = a ^ 77;
  for (int q = 0; q < r; ++q)
#pragma unroll 8
    for (unsigned k = 0; k < 2048; ++k) a = a * (k * 40503u | 1u) + (b >> 3), b = b * 5u + (a >> 9) + k;
  y[i] = a + b;
}
