/* hone
{ "name": "reduce_sequential",
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

__global__ void reduce(const float* in, float* out, int n) {
  __shared__ float s[64];
  int tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  s[tid] = 0;
  if (i < n) s[tid] = in[i];
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (tid < half) s[tid] += s[tid + half];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = s[0];
}
