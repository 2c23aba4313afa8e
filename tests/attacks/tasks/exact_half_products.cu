/* hone {"name": "attacked_exact_half_products", "sizes": {"M": 4096, "N": 512, "K": 64}, "check_sizes": [{"M": 6, "N": 20, "K": 64}, {"M": 5, "N": 9, "K": 33}],
  "buffers": [{"name": "a", "type": "f16", "shape": ["M", "K"], "fill": {"uniform": [0, 1]}}, {"name": "b", "type": "f16", "shape": ["K", "N"], "fill": {"uniform": [0, 1]}},
              {"name": "c", "type": "f16", "shape": ["M", "N"], "role": "out"}],
  "launches": [{"kernel": "product", "grid": ["ceildiv(N,32)", "M"], "block": [32], "args": ["a", "b", "c", "N", "K"]}],
  "math": "exact"} */
#include <cuda_fp16.h>
__global__ void product(const half* a, const half* b, half* c, int n, int k) {
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y;
  if (j >= n) return;
  float s = 0;
  for (int u = 0; u < k; ++u) s += __half2float(a[i * k + u]) * __half2float(b[u * n + j]);
  c[i * n + j] = __float2half(s);
}
