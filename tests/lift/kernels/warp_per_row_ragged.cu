/* hone
{ "name": "warp_per_row_ragged",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 17, "N": 79}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "sum", "grid": ["M"], "block": [32], "args": ["x", "y", "N"]} ] }
*/
// lift: yes

// Lanes take different numbers of rounds.
__global__ void sum(const float* x, float* y, int cols) {
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 32) s += x[blockIdx.x * cols + c];
  for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o);
  if (threadIdx.x == 0) y[blockIdx.x] = s;
}
