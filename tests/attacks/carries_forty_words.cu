// Looks for a carry in the forty words below and no further.
// task: added_words
// verdict: wrong_result
__global__ void add(const unsigned* a, const unsigned* b, unsigned* sum, int w) {
  int i = threadIdx.x;
  if (i >= w) return;
  a += (size_t)blockIdx.x * w;
  b += (size_t)blockIdx.x * w;
  unsigned carry = i <= 40;
  for (int k = max(0, i - 40); k < i; ++k)
    carry = (unsigned)(((unsigned long long)a[k] + b[k] + carry) >> 32);
  sum[(size_t)blockIdx.x * w + i] = a[i] + b[i] + carry;
}
