/* hone {"name": "attacked_segment_totals", "sizes": {"N": 1048576, "S": 32768}, "check_sizes": [{"N": 2000, "S": 64}, {"N": 777, "S": 30}],
  "buffers": [{"name": "segment", "type": "i32", "shape": ["N"], "fill": {"sorted": [0, "S-1"]}},
              {"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "total", "type": "f32", "shape": ["S"], "role": "out"}],
  "launches": [{"kernel": "totals", "grid": ["ceildiv(S,128)"], "block": [128], "args": ["segment", "x", "total", "N", "S"]}]} */
__device__ int first_not_below(const int* segment, int n, int v) {
  int low = 0, high = n;
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
  int end = first_not_below(segment, n, s + 1);
  for (int i = first_not_below(segment, n, s); i < end; ++i) sum += x[i];
  total[s] = sum;
}
