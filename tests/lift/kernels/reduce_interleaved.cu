/* hone
{ "name": "reduce_interleaved",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1000},
                  {"N": 256}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["(N+63)/64"], "role": "out"} ],
  "launches": [
    {"kernel": "reduce", "grid": ["ceildiv(N,64)"], "block": [64],
     "args": ["x", "y", "N"]} ] }
*/
// lift: yes

__global__ void reduce(const float* g_in, float* g_out, int n) {
  __shared__ float s[64];
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[tid] = (i < n) ? g_in[i] : 0.0f;
  __syncthreads();
  for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
    if (tid % (2 * stride) == 0) s[tid] += s[tid + stride];
    __syncthreads();
  }
  if (tid == 0) g_out[blockIdx.x] = s[0];
}
