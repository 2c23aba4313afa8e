// No two threads touch neighbouring elements.
/* hone
{"name": "pick", "sizes": {"N": 4096}, "check_sizes": [{"N": 64}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["2*N"]},
   {"name": "y", "type": "f32", "shape": ["2*N"], "role": "inout"}],
 "launches": [
   {"kernel": "pick", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]}
*/
__global__ void pick(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[2 * i] = x[2 * i + 1];
}
