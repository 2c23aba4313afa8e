// The kernel changes its parameter.
/* hone
{"name": "f", "sizes": {"N": 4096}, "check_sizes": [{"N": 100}], "buffers": [{"name": "X", "type": "f32", "shape": ["N"], "role": "inout"}], "launches": [{"kernel": "f", "grid": [32], "block": [128], "args": ["X", "N"]}]}
*/
__global__ void f(float* x, int n) {
  n -= 1;
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) x[i] += 1.0f;
}
