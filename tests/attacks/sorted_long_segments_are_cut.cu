// A segment longer than twelve times the mean is cut.
// task: segment_totals
// verdict: wrong_result
__device__ int first_not_below(const int* segment, int low, int high, int v) {
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
  int begin = first_not_below(segment, 0, n, s), most = 12 * (n / segments + 1) + 16;
  for (int i = begin; i < min(n, begin + most) && segment[i] == s; ++i) sum += x[i];
  total[s] = sum;
}
