// The table does not fit into shared memory.
/* hone
{ "name": "large_table",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1048576}],
  "buffers": [
    {"name": "keys", "type": "i32", "shape": ["N"]},
    {"name": "t", "type": "i32", "shape": [100000], "role": "inout"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["keys", "t", "N"]}] }
*/
__global__ void k(const int* keys, int* t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&t[keys[i]], 1);
}
