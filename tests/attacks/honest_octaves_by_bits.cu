// The exponent, read from the bits.
// task: octaves
// verdict: ok
/* hone {"launches": [{"kernel": "octaves", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "y", "N"]}]} */
__global__ void octaves(const float* x, int* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = (__float_as_int(x[i]) >> 23) - 127;
}
