// Rows of 1023 floats begin at any alignment.
/* hone
{"name": "rows", "sizes": {"R": 512, "C": 1023}, "check_sizes": [{"R": 32, "C": 63}],
 "buffers": [
   {"name": "a", "type": "f32", "shape": ["R", "C"]},
   {"name": "s", "type": "f32", "shape": ["R", "2"], "role": "out"}],
 "launches": [
   {"kernel": "rows", "grid": ["ceildiv(R,64)"], "block": [64], "args": ["a", "s", "R", "C"]}]}
*/
__global__ void rows(const float* a, float* s, int r, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= r) return;
  float sum = 0.0f;
  for (int k = 0; k < c; ++k) sum += a[row * c + k];
  s[2 * row] = sum;
  s[2 * row + 1] = sum / c;
}
