// A thread may leave from within a loop.
/* hone
{ "name": "leaves_in_a_loop",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1048576}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "t", "type": "f32", "shape": [1], "role": "inout"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "t", "N"]}] }
*/
__global__ void k(const float* x, float* t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int j = 0; j < 4; ++j) {
    if (i * 4 + j >= n) return;
    atomicAdd(t, x[i * 4 + j]);
  }
}
