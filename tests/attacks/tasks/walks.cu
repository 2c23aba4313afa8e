/* hone {"name": "attacked_walks", "sizes": {"N": 4194304, "M": 8448, "STEPS": 128}, "check_sizes": [{"N": 500, "M": 128, "STEPS": 9}, {"N": 333, "M": 192, "STEPS": 6}],
  "constraints": ["M % 64 == 0"],
  "buffers": [{"name": "next", "type": "i32", "shape": ["N"], "fill": "permutation"},
              {"name": "y", "type": "i32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "walk", "grid": ["M/64"], "block": [64], "args": ["next", "y", "N", "M", "STEPS"]}]} */
// The sum of what a walk through a list comes to.
__global__ void walk(const int* next, int* y, int n, int m, int steps) {
  int i = blockIdx.x * 64 + threadIdx.x, at = i * 31 % n;
  unsigned sum = 0;
  for (int k = 0; k < steps; ++k) at = next[at], sum += at;
  y[i] = (int)sum;
}
