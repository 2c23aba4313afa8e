// The whole root by the root of a double, which rounds numbers beyond 2^53.
// task: roots_of_words
// verdict: wrong_result
__global__ void roots(const unsigned long long* x, unsigned* y, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = (unsigned)sqrt((double)x[i]);
}
