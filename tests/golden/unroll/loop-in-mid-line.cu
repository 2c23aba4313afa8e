/* hone
{"name": "f", "sizes": {"N": 64}, "check_sizes": [{"N": 64}], "buffers": [{"name": "X", "type": "f32", "shape": ["N"], "role": "inout"}], "launches": [{"kernel": "f", "grid": [1], "block": [64], "args": ["X", "N"]}]}
*/
__global__ void f(float* x, int n) {
  if (threadIdx.x == 0) for (int k = 1; k < n; k++) x[0] += x[k];
}
