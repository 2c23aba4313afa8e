// Not every thread reads its element.
/* hone
{"name": "masked", "sizes": {"N": 4096}, "check_sizes": [{"N": 64}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["N"]},
   {"name": "y", "type": "f32", "shape": ["2*N"], "role": "inout"}],
 "launches": [
   {"kernel": "masked", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]}
*/
__global__ void masked(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && y[2 * i] > 0.0f) y[2 * i + 1] = x[i];
}
