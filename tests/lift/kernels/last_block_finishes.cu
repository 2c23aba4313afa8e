/* hone
{ "name": "last_block_finishes",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 256}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "part", "type": "f32", "shape": ["N/64"], "role": "scratch"},
    {"name": "done", "type": "u32", "shape": [1], "role": "inout", "fill": {"constant": 0}},
    {"name": "y", "type": "f32", "shape": [1], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["N/64"], "block": [64],
     "args": ["x", "part", "done", "y"]} ] }
*/
// lift: no: the call of '__threadfence'

// The blocks communicate: the last one to arrive adds up what all have left.
__global__ void k(const float* x, float* part, unsigned int* done, float* y) {
  __shared__ float s[64];
  __shared__ bool last;
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 64 + t];
  __syncthreads();
  for (int h = 32; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  if (t == 0) {
    part[blockIdx.x] = s[0];
    __threadfence();
    unsigned int ticket = atomicAdd(done, 1);
    last = ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    float sum = 0;
    for (int b = 0; b < gridDim.x; ++b) sum += part[b];
    *y = sum;
  }
}
