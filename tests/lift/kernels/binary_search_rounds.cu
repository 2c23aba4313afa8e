/* hone
{ "name": "binary_search_rounds",
  "sizes": {"N": 65536},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]} ] }
*/
// lift: no: a loop whose number of rounds is not known

__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int lo = 0, hi = n;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (x[mid] < x[i]) lo = mid + 1; else hi = mid;
  }
  y[i] = lo;
}
