// The old value is used.
/* hone
{ "name": "result_used",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1048576}],
  "buffers": [
    {"name": "x", "type": "i32", "shape": ["N"]},
    {"name": "t", "type": "i32", "shape": [1], "role": "inout"},
    {"name": "where", "type": "i32", "shape": ["N"], "role": "out"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "t", "where", "N"]}] }
*/
__global__ void k(const int* x, int* t, int* where, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) where[i] = atomicAdd(t, x[i]);
}
