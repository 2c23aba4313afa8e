/* hone
{ "name": "reduce_strided_index",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1000},
                  {"N": 256}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["(N+63)/64"], "role": "out"} ],
  "launches": [
    {"kernel": "reduce", "grid": ["ceildiv(N,64)"], "block": [64], "shared_bytes": 256,
     "args": ["x", "y", "N"]} ] }
*/
// lift: yes

__global__ void reduce(const float* in, float* out, int n) {
  extern __shared__ float s[];
  int tid = threadIdx.x;
  int i = blockIdx.x * blockDim.x + tid;
  s[tid] = i < n ? in[i] : -3.4e38f;
  __syncthreads();
  for (int stride = 1; stride < blockDim.x; stride *= 2) {
    int index = 2 * stride * tid;
    if (index < blockDim.x) s[index] = fmaxf(s[index], s[index + stride]);
    __syncthreads();
  }
  if (!tid) out[blockIdx.x] = s[0];
}
