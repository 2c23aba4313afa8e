/* hone
{ "name": "several_accumulators",
  "sizes": {"R": 1024, "C": 512},
  "check_sizes": [{"R": 1024, "C": 512}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["R", "C"]},
    {"name": "low", "type": "f32", "shape": ["R"], "role": "out"},
    {"name": "high", "type": "f32", "shape": ["R"], "role": "out"},
    {"name": "positive", "type": "i32", "shape": ["R"], "role": "out"}],
  "launches": [
    {"kernel": "stats", "grid": ["ceildiv(R,32)"], "block": [32], "args": ["x", "low", "high", "positive", "R", "C"]}] }
*/
__global__ void stats(const float* x, float* low, float* high, int* positive, int rows, int cols) {
  long r = (long)blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    float mn = x[r * cols], mx = x[r * cols];
    int count = 0;
    double total = 1.0;
    for (int i = 1; i <= cols - 1; i += 1) {
      float v = x[r * cols + i];
      if (v < mn) mn = v;
      mx = v > mx ? v : mx;
      if (v > 0.0f) count++;
      total = total + v;
    }
    low[r] = mn;
    high[r] = mx + (float)total;
    positive[r] = count;
  }
}
