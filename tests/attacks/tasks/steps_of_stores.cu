/* hone {"name": "attacked_chain", "sizes": {"N": 65536, "K": 512}, "check_sizes": [{"N": 1024, "K": 64}, {"N": 2048, "K": 33}], "constraints": ["N % 128 == 0"],
  "buffers": [{"name": "x", "type": "i32", "shape": ["N"], "fill": {"integers": [-1000, 1000]}}, {"name": "y", "type": "i32", "shape": ["K", "N"], "role": "out"}],
  "launches": [{"kernel": "steps", "grid": ["N/128"], "block": [128], "args": ["x", "y", "N", "K"]}]} */
__global__ void steps(const int* x, int* y, int n, int k) {
  int i = blockIdx.x * 128 + threadIdx.x, v = x[i];
  for (int q = 0; q < k; ++q) y[(size_t)q * n + i] = v = v * 5 ^ q;
}
