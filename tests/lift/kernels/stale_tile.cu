/* hone
{ "name": "stale_tile",
  "sizes": {"M": 64, "K": 64},
  "check_sizes": [{"M": 16, "K": 24}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "K"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["M/16"], "block": [16],
     "args": ["x", "y", "K"]} ] }
*/
// lift: no: cannot be shown to be one formula of their index

// In the last round only half of the tile is new: the rest is what the round before has left.
__global__ void k(const float* x, float* y, int K) {
  __shared__ float s[16];
  int t = threadIdx.x;
  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += 16) {
    if (k0 + t < K) s[t] = x[blockIdx.x * 16 * K + k0 + t];
    __syncthreads();
    for (int j = 0; j < 16; ++j) sum += s[j] * (t + 1);
    __syncthreads();
  }
  y[blockIdx.x * 16 + t] = sum;
}
