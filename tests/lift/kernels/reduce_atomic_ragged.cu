/* hone
{ "name": "reduce_atomic_ragged",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1000}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": [1], "role": "inout", "fill": {"constant": 0.5}} ],
  "launches": [
    {"kernel": "reduce", "grid": ["1"], "block": [128],
     "args": ["x", "y", "N"]} ] }
*/
// lift: no: cannot be shown to be one formula of their index

__global__ void reduce(const float* in, float* out, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
  for (int mask = 16; mask >= 1; mask /= 2) sum += __shfl_xor_sync(~0u, sum, mask);
  if ((threadIdx.x & 31) == 0) atomicAdd(out, sum);
}
