// Honest: a binary search for each key; the keys are sorted.
// task: starts_of_keys
// verdict: ok
/* hone {"launches": [{"kernel": "starts", "grid": ["ceildiv(B,64)"], "block": [64], "args": ["key", "start", "N", "B"]}]} */
__global__ void starts(const unsigned* key, int* start, int n, int b) {
  unsigned v = blockIdx.x * 64 + threadIdx.x;
  if (v >= b) return;
  int low = 0, high = n;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (key[middle] < v) low = middle + 1; else high = middle;
  }
  start[v] = low < n && key[low] == v ? low : n;
}
