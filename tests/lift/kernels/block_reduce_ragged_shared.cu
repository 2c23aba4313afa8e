/* hone
{ "name": "block_reduce_ragged_shared",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 5, "N": 100}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "sum", "grid": ["M"], "block": [64], "args": ["x", "y", "N"]} ] }
*/
// lift: yes

__global__ void sum(const float* x, float* y, int cols) {
  __shared__ float s[64];
  float acc = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) acc += x[blockIdx.x * cols + c];
  s[threadIdx.x] = acc;
  __syncthreads();
  for (int w = blockDim.x / 2; w > 0; w >>= 1) {
    if (threadIdx.x < w) s[threadIdx.x] += s[threadIdx.x + w];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = s[0];
}
