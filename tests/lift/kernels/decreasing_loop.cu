/* hone
{ "name": "decreasing_loop",
  "sizes": {"M": 4096, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "powers", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["a", "y", "M", "N"]} ] }
*/
// lift: yes

// From the last element to the first, with a size_t that runs out.
__global__ void powers(const float* a, float* y, int rows, size_t cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float best = -1e30f;
  for (int c = cols - 1; c >= 0; c--) best = fmaxf(best, a[r * cols + c]);
  float sum = 0;
  for (size_t c = cols; c-- > 0;) sum += expf(a[r * cols + c] - best);
  y[r] = best + logf(sum);
}
