/* hone
{ "name": "half2_axpy_floats",
  "sizes": {"N": 4096},
  "check_sizes": [{"N": 154}],
  "buffers": [
    {"name": "x", "type": "f16", "shape": ["N"]},
    {"name": "y", "type": "f16", "shape": ["N"], "role": "inout"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N/2,64)"], "block": [64], "args": ["x", "y", "N/2", 1.5]} ],
  "tolerance": {"rtol": 0.01, "atol": 0.001} }
*/
// lift: yes

#include <cuda_fp16.h>
__global__ void k(const half2* x, half2* y, int n, float a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 u = __half22float2(x[i]);
  float2 v = __half22float2(y[i]);
  v.x = fmaf(a, u.x, v.x);
  v.y = fmaf(a, u.y, v.y);
  y[i] = __floats2half2_rn(v.x, v.y);
}
