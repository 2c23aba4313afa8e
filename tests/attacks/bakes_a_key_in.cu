// The value of a constant of 64 bits is in the code.
// task: keyed_by_constants
// verdict: wrong_result
/* hone {"launches": [{"kernel": "mix", "grid": ["ceildiv(N,1024)"], "block": [256], "args": ["x", "key", "y", "N"]}]} */
__global__ void mix(const unsigned long long* x, const unsigned long long* key, unsigned* y, int n) {
  for (int k = 0; k < 4; ++k) {
    int i = blockIdx.x * 1024 + k * 256 + threadIdx.x;
    if (i < n) y[i] = (unsigned)(x[i] * 11400714819323198485ull >> 32);
  }
}
