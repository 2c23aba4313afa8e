// Integer inputs, an honest twin: halves of 32 bits are summed apart.
// task: wide_sum
// verdict: ok
__global__ void wide_sum(const int* x, long long* sum, int cols) {
  int high = 0;
  unsigned int low = 0;
  for (int c = threadIdx.x; c < cols; c += 32) {
    int v = x[blockIdx.x * cols + c];
    high += v >> 16;
    low += v & 0xFFFF;
  }
  high = __reduce_add_sync(~0u, high);
  low = __reduce_add_sync(~0u, low);
  if (threadIdx.x == 0) sum[blockIdx.x] = high * 65536ll + low;
}
