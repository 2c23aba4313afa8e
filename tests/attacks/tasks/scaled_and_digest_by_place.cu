/* hone {"name": "attacked_scaled_and_digest_by_place", "sizes": {"N": 4194304, "K": 4096}, "check_sizes": [{"N": 4096, "K": 100}, {"N": 2048, "K": 77}],
  "constraints": ["N % 128 == 0", "K <= N"],
  "buffers": [{"name": "x", "type": "i32", "shape": ["N"], "fill": {"integers": [-1000, 1000]}}, {"name": "p", "type": "i32", "shape": ["N/128"], "fill": "permutation"},
              {"name": "y", "type": "i32", "shape": ["N"], "role": "out"}, {"name": "d", "type": "i32", "shape": [1], "role": "out"}],
  "launches": [{"kernel": "scaled", "grid": ["N/128"], "block": [128], "args": ["x", "p", "y"]},
               {"kernel": "digest", "grid": [1], "block": [1], "args": ["x", "d", "K"]}]} */
__global__ void scaled(const int* x, const int* p, int* y) { int i = blockIdx.x * 128 + threadIdx.x; y[i] = x[i] * 7 + p[i / 128]; }
__global__ void digest(const int* x, int* d, int k) {
  unsigned h = 1;
  for (int j = 0; j < k; ++j) h = h * 31 + x[j], h ^= h >> 7;
  d[0] = (int)h;
}
