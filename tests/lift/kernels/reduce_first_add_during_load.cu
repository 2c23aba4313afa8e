/* hone
{ "name": "reduce_first_add_during_load",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1000},
                  {"N": 256}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["(N+63)/64"], "role": "out"} ],
  "launches": [
    {"kernel": "reduce", "grid": ["ceildiv(N,64)"], "block": [32],
     "args": ["x", "y", "N"]} ] }
*/
// lift: yes

__global__ void reduce(const float* in, float* out, unsigned int n) {
  __shared__ float s[32];
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
  float sum = (i < n) ? in[i] : 0;
  if (i + blockDim.x < n) sum += in[i + blockDim.x];
  s[tid] = sum;
  __syncthreads();
  for (unsigned int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (tid < k) s[tid] = sum = sum + s[tid + k];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = sum;
}
