// The accesses are a macro's text.
/* hone
{"name": "macro", "sizes": {"N": 4096}, "check_sizes": [{"N": 256}, {"N": 250}, {"N": 253}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["N"]},
   {"name": "y", "type": "f32", "shape": ["N"], "role": "inout"}],
 "launches": [
   {"kernel": "apply", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]}
*/
#define AT(p) (p)[blockIdx.x * blockDim.x + threadIdx.x]
__global__ void apply(const float* x, float* y, int n) {
  if (blockIdx.x * blockDim.x + threadIdx.x < n) AT(y) += AT(x);
}
