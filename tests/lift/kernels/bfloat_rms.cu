/* hone
{ "name": "bfloat_rms",
  "sizes": {"M": 4096, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "x", "type": "bf16", "shape": ["M", "N"]},
    {"name": "g", "type": "bf16", "shape": ["N"]},
    {"name": "y", "type": "bf16", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "rms", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "g", "y", "M", "N", 1e-05]} ] }
*/
// lift: yes

#include <cuda_bf16.h>

__global__ void rms(const __nv_bfloat16* x, const __nv_bfloat16* g, __nv_bfloat16* y, int rows,
                    int cols, float eps) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float squares = 0.f;
  for (int c = 0; c < cols; ++c) {
    const float v = __bfloat162float(x[r * cols + c]);
    squares += v * v;
  }
  const float scale = rsqrtf(squares / cols + eps);
  for (int c = 0; c < cols; ++c)
    y[r * cols + c] =
        __float2bfloat16(__bfloat162float(x[r * cols + c]) * scale * __bfloat162float(g[c]));
}
