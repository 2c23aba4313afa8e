// Every thread has an address of its own.
/* hone
{ "name": "address_varies",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1048576}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "t", "type": "f32", "shape": [7], "role": "inout"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "t", "N"]}] }
*/
__global__ void k(const float* x, float* t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&t[i % 7], x[i]);
}
