// The text belongs to a macro, which other code may share.
/* hone
{"name": "macro", "sizes": {"N": 4096}, "check_sizes": [{"N": 256}, {"N": 250}, {"N": 253}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["N"]},
   {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
 "launches": [
   {"kernel": "apply", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]}
*/
#define SIGMOID(v) (1.0f / (1.0f + expf(-(v))))
__global__ void apply(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = SIGMOID(x[i]);
}
