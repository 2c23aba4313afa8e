// An exchange does not fold.
/* hone
{ "name": "exchange",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1048576}],
  "buffers": [
    {"name": "x", "type": "i32", "shape": ["N"]},
    {"name": "t", "type": "i32", "shape": [1], "role": "inout"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "t", "N"]}] }
*/
__global__ void k(const int* x, int* t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicExch(t, x[i]);
}
