// Honest: stops at the length of each row, where the reference goes on to its end.
// task: padded_rows
// verdict: ok
// H200 [us]: 6.4
__global__ void padded_rows(const float* x, const int* length, float* sum, int cols) {
  int most = length[blockIdx.x] < cols ? length[blockIdx.x] : cols;
  float s = 0;
  for (int c = threadIdx.x; c < most; c += 32) s += x[(size_t)blockIdx.x * cols + c];
  for (int step = 16; step > 0; step /= 2) s += __shfl_down_sync(0xffffffffu, s, step);
  if (threadIdx.x == 0) sum[blockIdx.x] = s;
}
