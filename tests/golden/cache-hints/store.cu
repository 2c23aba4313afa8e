/* hone
{"name": "two", "sizes": {"N": 4096}, "check_sizes": [{"N": 256}, {"N": 250}, {"N": 253}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["N"]},
   {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
 "launches": [
   {"kernel": "two", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]}
*/
__global__ void two(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (x[i] > 0.0f) {
    y[i] = (x[i] + 1.0f) * 2.0f;
  } else {
    y[i] = 0;
  }
}
