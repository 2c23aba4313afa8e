// Both parameters are the same buffer: a later iteration reads what an earlier one stored.
/* hone
{"name": "shift", "sizes": {"R": 512, "C": 1024}, "check_sizes": [{"R": 32, "C": 64}],
 "buffers": [
   {"name": "a", "type": "f32", "shape": ["R", "C"], "role": "inout"}],
 "launches": [
   {"kernel": "shift", "grid": ["ceildiv(R,64)"], "block": [64], "args": ["a", "a", "R", "C"]}]}
*/
__global__ void shift(const float* from, float* to, int r, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= r) return;
  for (int k = 0; k < c - 4; ++k) to[row * c + k + 4] = from[row * c + k];
}
