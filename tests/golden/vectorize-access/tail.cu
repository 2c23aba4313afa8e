/* hone
{"name": "relu", "sizes": {"N": 4099}, "check_sizes": [{"N": 256}, {"N": 5}, {"N": 253}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["N"], "role": "inout"}],
 "launches": [
   {"kernel": "relu", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "N"]}]}
*/
// In place, with an early return, at a size that leaves a tail.
__global__ void relu(float* x, int n) {
  const int i = threadIdx.x + blockDim.x * blockIdx.x;
  if (i >= n) return;
  float v = x[i];
  if (v < 0.0f) v = 0.0f;
  x[i] = v;
}
