/* hone
{"name": "row_max", "sizes": {"R": 512, "C": 1024}, "check_sizes": [{"R": 32, "C": 64}, {"R": 7, "C": 33}],
 "buffers": [
   {"name": "a", "type": "f32", "shape": ["R", "C"]},
   {"name": "index", "type": "i32", "shape": ["C"]},
   {"name": "m", "type": "f32", "shape": ["R"], "role": "out"}],
 "launches": [
   {"kernel": "row_max", "grid": ["ceildiv(R,64)"], "block": [64], "args": ["a", "m", "R", "C"]}]}
*/
__global__ void row_max(const float* a, float* m, int r, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= r) return;
  const float* line = &a[row * c];
  float best = *line;
  for (int k = 1; k < c; ++k) best = fmaxf(best, line[k]);
  m[row] = best;
}
