// The accesses are a macro's text.
/* hone
{"name": "macro", "sizes": {"N": 4096}, "check_sizes": [{"N": 256}, {"N": 250}, {"N": 253}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["N"]},
   {"name": "y", "type": "f32", "shape": ["N"], "role": "inout"}],
 "launches": [
   {"kernel": "apply", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]}
*/
#define ADD_AT(p, q) (p)[i] += (q)[i] * 2.0f
__global__ void apply(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ADD_AT(y, x);
}
