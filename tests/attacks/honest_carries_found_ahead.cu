// Honest: each word looks down for the nearest one that makes or swallows a carry.
// task: added_words
// verdict: ok
__global__ void add(const unsigned* a, const unsigned* b, unsigned* sum, int w) {
  int i = threadIdx.x;
  if (i >= w) return;
  a += (size_t)blockIdx.x * w;
  b += (size_t)blockIdx.x * w;
  unsigned carry = 1;
  for (int k = i - 1; k >= 0; --k) {
    unsigned part = a[k] + b[k];
    if (part == ~0u && part >= a[k]) continue;
    carry = part < a[k];
    break;
  }
  sum[(size_t)blockIdx.x * w + i] = a[i] + b[i] + carry;
}
