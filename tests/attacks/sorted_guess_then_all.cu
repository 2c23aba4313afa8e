// Honest: looks near the guess first, and everywhere if it is not there.
// task: segment_totals
// verdict: ok
__device__ int first_not_below(const int* segment, int n, int segments, int v) {
  int guess = (int)((long long)v * (n - 1) / (segments - 1 > 0 ? segments - 1 : 1));
  int reach = 12 * (n / segments + 1);
  int low = max(0, guess - reach), high = min(n, guess + reach);
  if (low > 0 && segment[low - 1] >= v) low = 0;
  if (high < n && segment[high] < v) high = n;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (segment[middle] < v) low = middle + 1; else high = middle;
  }
  return low;
}
__global__ void totals(const int* segment, const float* x, float* total, int n, int segments) {
  int s = blockIdx.x * 128 + threadIdx.x;
  if (s >= segments) return;
  float sum = 0;
  int end = first_not_below(segment, n, segments, s + 1);
  for (int i = first_not_below(segment, n, segments, s); i < end; ++i) sum += x[i];
  total[s] = sum;
}
