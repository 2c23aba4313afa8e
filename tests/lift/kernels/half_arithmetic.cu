/* hone
{ "name": "half_arithmetic",
  "sizes": {"N": 4194304},
  "check_sizes": [{"N": 1000},
                  {"N": 77}],
  "buffers": [
    {"name": "x", "type": "f16", "shape": ["N"]},
    {"name": "z", "type": "f16", "shape": ["N"]},
    {"name": "y", "type": "f16", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "blend", "grid": ["ceildiv(N,256)"], "block": [256],
     "args": ["x", "z", "y", "N"]} ] }
*/
// lift: yes

#include <cuda_fp16.h>

__global__ void blend(const __half* x, const __half* z, __half* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __half a = x[i], b = z[i];
  y[i] = __hadd(__hmul(a, b), a * __float2half(0.25f));
}
