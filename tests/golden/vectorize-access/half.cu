/* hone
{"name": "axpy_half", "sizes": {"N": 8192}, "check_sizes": [{"N": 512}, {"N": 251}],
 "buffers": [
   {"name": "x", "type": "f16", "shape": ["N"]},
   {"name": "y", "type": "f16", "shape": ["N"], "role": "inout"}],
 "launches": [
   {"kernel": "axpy", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]}
*/
#include <cuda_fp16.h>

__global__ void axpy(const __half* x, __half* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hadd(y[i], x[i]);
}
