/* hone
{"name": "largest", "sizes": {"R": 512, "C": 1024}, "check_sizes": [{"R": 32, "C": 64}, {"R": 7, "C": 33}],
 "buffers": [
   {"name": "a", "type": "f32", "shape": ["R", "C"]},
   {"name": "m", "type": "f32", "shape": ["R"], "role": "out"}],
 "launches": [
   {"kernel": "largest", "grid": ["ceildiv(R,64)"], "block": [64], "args": ["a", "m", "R", "C"]}]}
*/
// Strips begin at an aligned element; the ones before it go first.
__global__ void largest(const float* a, float* m, int r, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= r) return;
  float best = a[row * c];
  for (int k = 1; k < c; ++k)
    if (a[row * c + k] > best) best = a[row * c + k];
  m[row] = best;
}
