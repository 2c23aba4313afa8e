// The pointer goes to a function: not all of its accesses are in sight.
/* hone
{"name": "helper", "sizes": {"N": 4096}, "check_sizes": [{"N": 256}, {"N": 250}, {"N": 253}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["N"]},
   {"name": "y", "type": "f32", "shape": ["N"], "role": "inout"}],
 "launches": [
   {"kernel": "outer", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]}
*/
__device__ float pick(const float* p, int i) { return p[i] + p[0]; }
__global__ void outer(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += pick(x, i);
}
