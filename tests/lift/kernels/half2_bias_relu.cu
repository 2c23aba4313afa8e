/* hone
{ "name": "half2_bias_relu",
  "sizes": {"N": 4096, "C": 128},
  "check_sizes": [{"N": 30, "C": 24}],
  "buffers": [
    {"name": "x", "type": "f16", "shape": ["N", "C"]},
    {"name": "bias", "type": "f16", "shape": ["C"]},
    {"name": "y", "type": "f16", "shape": ["N", "C"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N*C/2,64)"], "block": [64], "args": ["x", "bias", "y", "N*C/2", "C/2"]} ],
  "tolerance": {"rtol": 0.01, "atol": 0.001} }
*/
// lift: yes

#include <cuda_fp16.h>
__global__ void k(const half* x, const half* bias, half* y, int n2, int c2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n2) return;
  const half2* x2 = reinterpret_cast<const half2*>(x);
  const half2* b2 = reinterpret_cast<const half2*>(bias);
  half2 v = __hadd2(x2[i], b2[i % c2]);
  v = __hmul2(v, __float2half2_rn(0.5f));
  reinterpret_cast<half2*>(y)[i] = __hmax2(v, __float2half2_rn(0.f));
}
