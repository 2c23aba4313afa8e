/* hone
{"name": "f", "sizes": {"N": 4096}, "check_sizes": [{"N": 100}], "buffers": [{"name": "X", "type": "f32", "shape": ["N"], "role": "inout"}], "launches": [{"kernel": "f", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["X", "N"]}]}
*/
__global__ void f(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
#pragma unroll(4)
  for (int k = 0; k < n; k++) v = v * v + 0.5f;
  x[i] = v;
}
