/* hone
{"name": "normalise", "sizes": {"N": 4096}, "check_sizes": [{"N": 256}, {"N": 250}, {"N": 253}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["N"]},
   {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
 "launches": [
   {"kernel": "normalise", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]}
*/
__global__ void normalise(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  float a = 1.0f / sqrtf(v * v + 1.0f);
  float b = v / (sqrt(v * v + 2.0f));
  y[i] = a * b;
}
