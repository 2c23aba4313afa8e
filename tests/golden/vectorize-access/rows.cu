/* hone
{"name": "dot_rows", "sizes": {"R": 512, "C": 1024}, "check_sizes": [{"R": 32, "C": 64}, {"R": 7, "C": 33}],
 "buffers": [
   {"name": "a", "type": "f32", "shape": ["R", "C"]},
   {"name": "v", "type": "f32", "shape": ["C"]},
   {"name": "d", "type": "f32", "shape": ["R"], "role": "out"}],
 "launches": [
   {"kernel": "dots", "grid": ["ceildiv(R,64)"], "block": [64], "args": ["a", "v", "d", "R", "C"]}]}
*/
// Reads through a pointer to the row, with locals for the index.
__global__ void dots(const float* a, const float* v, float* d, int r, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= r) return;
  const float* line = a + row * c;
  float dot = 0.0f;
#pragma unroll 2
  for (int k = 0; k < c; k++) {
    int here = k;
    dot += line[here] * v[here];
  }
  d[row] = dot;
}
