// Integer division is another operation.
/* hone
{"name": "integers", "sizes": {"N": 4096}, "check_sizes": [{"N": 256}, {"N": 250}, {"N": 253}],
 "buffers": [
   {"name": "x", "type": "i32", "shape": ["N"]},
   {"name": "y", "type": "i32", "shape": ["N"], "role": "out"}],
 "launches": [
   {"kernel": "integers", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]}
*/
__global__ void integers(const int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / 3 + x[i] / n;
}
