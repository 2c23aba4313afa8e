/* hone {"name": "attacked_equal_neighbours", "sizes": {"N": 4096}, "check_sizes": [{"N": 300}, {"N": 215}],
  "buffers": [{"name": "key", "type": "u32", "shape": ["N"], "fill": {"integers": [500000000, 600000000]}},
              {"name": "y", "type": "i32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "equal", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["key", "y", "N"]}]} */
// y[i]: what a key ends with, and a million more where the one before it is the same.
__global__ void equal(const unsigned* key, int* y, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  bool same = i > 0 && key[i - 1] == key[i];
  y[i] = (int)(key[i] % 1000u) + (same ? 1000000 : 0);
}
