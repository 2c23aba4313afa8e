// Read and written: what a hint would do to the reads depends on the writes.
/* hone
{"name": "update", "sizes": {"N": 4096}, "check_sizes": [{"N": 256}, {"N": 250}, {"N": 253}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["N"], "role": "inout"}],
 "launches": [
   {"kernel": "update", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "N"]}]}
*/
__global__ void update(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * 2.0f;
}
