/* hone
{ "name": "scatter_plain_store",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 64}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "ids", "type": "i32", "shape": ["N"], "fill": {"integers": [0, 63]}},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "inout"} ],
  "launches": [
    {"kernel": "permute", "grid": ["ceildiv(N,64)"], "block": [64],
     "args": ["x", "ids", "y", "N"]} ] }
*/
// lift: no: where 'y' is written, at 'ids[threadIdx.x]', is no sum of multiples of indices

__global__ void permute(const float* x, const int* ids, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[ids[i]] = x[i];
}
