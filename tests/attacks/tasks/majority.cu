/* hone {"name": "attacked_majority", "sizes": {"N": 4194304}, "check_sizes": [{"N": 300}, {"N": 517}], "buffers": [{"name": "a", "type": "i32", "shape": ["N"], "fill": {"integers": [0, 2147483647]}}, {"name": "b", "type": "i32", "shape": ["N"], "fill": {"integers": [0, 2147483647]}}, {"name": "y", "type": "i32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "majority", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["a", "b", "y", "N"]}]} */
// A cellular automaton on eight bits, sixteen steps.
__global__ void majority(const int* a, const int* b, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = a[i] & 255, m = b[i] & 255;
  for (int r = 0; r < 16; ++r) {
    unsigned left = (x << 1 | x >> 7) & 255, right = (x >> 1 | x << 7) & 255;
    x = (left ^ (x | right)) & 255;
    x ^= m;
  }
  y[i] = (int)x;
}
