// Honest: the root of a double, one less or more where its square says so.
// task: roots_of_words
// verdict: ok
__global__ void roots(const unsigned long long* x, unsigned* y, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  unsigned long long v = x[i], r = (unsigned long long)sqrt((double)v);
  if (r * r > v) --r;
  if ((r + 1) * (r + 1) <= v) ++r;
  y[i] = (unsigned)r;
}
