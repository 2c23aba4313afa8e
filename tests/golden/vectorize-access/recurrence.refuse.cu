// Every iteration reads what the one before it stored.
/* hone
{"name": "prefix", "sizes": {"R": 512, "C": 1024}, "check_sizes": [{"R": 32, "C": 64}],
 "buffers": [
   {"name": "a", "type": "f32", "shape": ["R", "C"], "role": "inout"}],
 "launches": [
   {"kernel": "prefix", "grid": ["ceildiv(R,64)"], "block": [64], "args": ["a", "R", "C"]}]}
*/
__global__ void prefix(float* a, int r, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= r) return;
  for (int k = 1; k < c; ++k) a[row * c + k] += a[row * c + k - 1];
}
