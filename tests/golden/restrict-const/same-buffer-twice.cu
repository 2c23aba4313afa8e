/* hone
{"name": "f", "sizes": {"N": 4096}, "check_sizes": [{"N": 100}], "buffers": [{"name": "X", "type": "f32", "shape": ["N"], "role": "inout"}, {"name": "W", "type": "f32", "shape": ["N"]}], "launches": [{"kernel": "f", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["X", "X", "W", "N"]}]}
*/
__global__ void f(float* x, float* same, float* w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = same[i] * w[i];
}
