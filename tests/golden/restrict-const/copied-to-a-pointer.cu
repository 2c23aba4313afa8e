/* hone
{"name": "f", "sizes": {"N": 4096}, "check_sizes": [{"N": 100}], "buffers": [{"name": "X", "type": "f32", "shape": ["N"]}, {"name": "W", "type": "f32", "shape": ["N"]}, {"name": "Y", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "f", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["X", "W", "Y", "N"]}]}
*/
__global__ void f(float* x, float *w, float* y, int n) {
  float* cursor = x;  // a non-const copy: x cannot become const
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = cursor[i] * w[i];
}
