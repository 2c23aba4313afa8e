/* hone
{ "name": "sum",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1048576}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "total", "type": "f32", "shape": [1], "role": "inout"}],
  "launches": [
    {"kernel": "sum", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "total", "N"]}] }
*/
__global__ void sum(const float* x, float* total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(total, x[i]);
  }
}
