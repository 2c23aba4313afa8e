// Integer inputs: reads the lowest byte of each number.
// task: wide_sum
// verdict: wrong_result
__global__ void wide_sum(const int* x, long long* sum, int cols) {
  int s = 0;
  for (int c = threadIdx.x; c < cols; c += 32) s += ((const signed char*)(x + blockIdx.x * cols + c))[0];
  s = __reduce_add_sync(~0u, s);
  if (threadIdx.x == 0) sum[blockIdx.x] = s;
}
