/* hone
{"name": "ratio", "sizes": {"N": 4096}, "check_sizes": [{"N": 256}, {"N": 250}, {"N": 253}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["N"]},
   {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
 "launches": [
   {"kernel": "ratio", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]}
*/
// Halves stay, and so does the integer division.
__global__ void ratio(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i] / 2.0f;
  float w = (v + 1.0f) / (v * v + 3.0f) / n;
  w /= v * v + 1.0f;
  y[i] = w + i / 2;
}
