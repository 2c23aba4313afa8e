// The second loop reads what the same thread stored in the first.
/* hone
{"name": "twice", "sizes": {"N": 100000}, "check_sizes": [{"N": 4096}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["N"], "role": "inout"},
   {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
 "launches": [
   {"kernel": "twice", "grid": [8], "block": [128], "args": ["x", "y", "N"]}]}
*/
__global__ void twice(float* x, float* y, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = t; i < n; i += blockDim.x * gridDim.x) x[i] = 2.0f * x[i];
  for (int i = t; i < n; i += blockDim.x * gridDim.x) y[i] = x[i] + 1.0f;
}
