/* hone
{ "name": "address_per_block",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1048576}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "sums", "type": "f64", "shape": ["ceildiv(N,512)"], "role": "inout"}],
  "launches": [
    {"kernel": "block_sums", "grid": ["ceildiv(N,512)"], "block": [512], "args": ["x", "sums", "N"]}] }
*/
__global__ void block_sums(const float* x, double* sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double* mine = sums + blockIdx.x;
  if (i < n) atomicAdd(mine, x[i]);
}
