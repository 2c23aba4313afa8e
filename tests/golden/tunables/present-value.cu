/* hone
{"name": "scale", "sizes": {"N": 65536}, "check_sizes": [{"N": 1000}], "buffers": [{"name": "X", "type": "f32", "shape": ["N"]}, {"name": "Y", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "scale", "grid": ["ceildiv(N,BLOCK)"], "block": ["BLOCK"], "args": ["X", "Y", "N"]}], "tunables": {"BLOCK": [64, 128, 256]}}
*/
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
