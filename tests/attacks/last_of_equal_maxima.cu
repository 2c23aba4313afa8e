// Integer inputs: of equal maxima the last, where the first is wanted.
// task: row_scan
// verdict: wrong_result
__global__ void row_scan(const int* x, int* first_max, int* longest_rise, int* longest_run,
                         int* at_the_end, int rows, int cols) {
  int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= rows) return;
  int best = 0, high = x[row * cols], before = high, rise = 0, most_rise = 0, run = 0, most_run = 0,
      ends = 0;
  for (int c = 0; c < cols; ++c) {
    int v = x[row * cols + c];
    if (v >= high) high = v, best = c;
    rise = v > before ? rise + 1 : 0;
    run = c > 0 && v == before ? run + 1 : 0;
    most_rise = max(most_rise, rise);
    most_run = max(most_run, run);
    ends += v >= 1000000;
    before = v;
  }
  first_max[row] = best;
  longest_rise[row] = most_rise;
  longest_run[row] = most_run + x[row * cols];
  at_the_end[row] = ends - x[row * cols];
}
