// The old value is a position: the copies would give it out twice.
/* hone
{ "name": "result_used",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1048576}],
  "buffers": [
    {"name": "keys", "type": "i32", "shape": ["N"]},
    {"name": "t", "type": "i32", "shape": [64], "role": "inout"},
    {"name": "out", "type": "i32", "shape": ["N"], "role": "out"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["keys", "t", "out", "N"]}] }
*/
__global__ void k(const int* keys, int* t, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int at = atomicAdd(&t[keys[i]], 1);
    out[at] = i;
  }
}
