// Two launches pass two values, and the grids differ.
/* hone
{"name": "f", "sizes": {"N": 4096}, "check_sizes": [{"N": 100}], "buffers": [{"name": "X", "type": "f32", "shape": ["N"], "role": "inout"}], "launches": [{"kernel": "f", "grid": [32], "block": [128], "args": ["X", "N"]}, {"kernel": "f", "grid": [16], "block": [64], "args": ["X", "N/2"]}]}
*/
__global__ void f(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1.0f;
}
