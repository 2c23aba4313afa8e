/* hone
{ "name": "half_gelu",
  "sizes": {"N": 4194304},
  "check_sizes": [{"N": 1000},
                  {"N": 77}],
  "buffers": [
    {"name": "x", "type": "f16", "shape": ["N"]},
    {"name": "y", "type": "f16", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "gelu", "grid": ["ceildiv(N,256)"], "block": [256],
     "args": ["x", "y", "N"]} ] }
*/
// lift: yes

#include <cuda_fp16.h>

__global__ void gelu(const half* x, half* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = __half2float(x[i]);
    y[i] = __float2half(0.5f * v * (1.0f + erff(v * 0.70710678f)));
  }
}
