// The sum so far is read.
/* hone
{ "name": "also_read",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1048576}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "t", "type": "f32", "shape": [1], "role": "inout"},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "t", "y", "N"]}] }
*/
__global__ void k(const float* x, float* t, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(t, x[i]);
    y[i] = t[0];
  }
}
