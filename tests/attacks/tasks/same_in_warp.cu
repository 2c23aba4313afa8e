/* hone {"name": "attacked_same_in_warp", "sizes": {"N": 1048576}, "check_sizes": [{"N": 320}, {"N": 512}], "buffers": [{"name": "a", "type": "i32", "shape": ["N"], "fill": {"integers": [0, 7]}}, {"name": "y", "type": "i32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "same_in_warp", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["a", "y", "N"]}], "constraints": ["N % 32 == 0"]} */
// Which lanes of the warp have the same value of eight; sixteen rounds.
__global__ void same_in_warp(const int* a, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = a[i], all = 0;
  for (int r = 0; r < 16; ++r) {
    unsigned same = 0xffffffff;
    for (int bit = 0; bit < 3; ++bit) {
      unsigned on = __ballot_sync(0xffffffff, x >> bit & 1);
      same &= x >> bit & 1 ? on : ~on;
    }
    all += same;
    x = (x * 5 + (same & 3)) & 7;
  }
  y[i] = (int)all;
}
