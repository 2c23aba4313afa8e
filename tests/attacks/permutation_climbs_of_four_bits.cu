// No climb of a random permutation is longer than fifteen.
// task: longest_climb
// verdict: wrong_result
__global__ void climbs(const int* order, int* longest, int rows, int n) {
  int r = blockIdx.x * 64 + threadIdx.x;
  if (r >= rows) return;
  unsigned best = 1, now = 1;
  for (int i = 1; i < n; ++i) {
    now = order[r * n + i] > order[r * n + i - 1] ? (now + 1) & 31 : 1;
    best = max(best, now);
  }
  longest[r] = best;
}
