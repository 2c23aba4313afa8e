// The threads of a block work together already.
/* hone
{ "name": "shared_memory",
  "sizes": {"R": 1024, "C": 512},
  "check_sizes": [{"R": 1024, "C": 512}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["R", "C"]},
    {"name": "y", "type": "f32", "shape": ["R"], "role": "out"}],
  "launches": [
    {"kernel": "k", "grid": ["R"], "block": [64], "args": ["x", "y", "C"]}] }
*/
__global__ void k(const float* x, float* y, int cols) {
  __shared__ float s[64];
  float acc = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 64) acc += x[blockIdx.x * cols + i];
  s[threadIdx.x] = acc;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int i = 0; i < 64; ++i) total += s[i];
    y[blockIdx.x] = total;
  }
}
