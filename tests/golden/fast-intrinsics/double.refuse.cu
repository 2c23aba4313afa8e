// Double precision has no fast forms.
/* hone
{"name": "wide", "sizes": {"N": 4096}, "check_sizes": [{"N": 256}, {"N": 250}, {"N": 253}],
 "buffers": [
   {"name": "x", "type": "f64", "shape": ["N"]},
   {"name": "y", "type": "f64", "shape": ["N"], "role": "out"}],
 "launches": [
   {"kernel": "wide", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]}
*/
__global__ void wide(const double* x, double* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = exp(x[i]) / sqrt(x[i] * x[i] + 1.0);
}
