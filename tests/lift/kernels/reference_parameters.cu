/* hone
{ "name": "reference_parameters",
  "sizes": {"M": 4096, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["M", "N"]},
    {"name": "mean", "type": "f32", "shape": ["M"], "role": "out"},
    {"name": "top", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "stats", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["a", "mean", "top", "M", "N"]} ] }
*/
// lift: yes

__device__ void add_to(float& sum, float& most, float v) {
  sum += v;
  most = v > most ? v : most;
}

__device__ void split(int flat, int width, int& hi, int& lo) {
  hi = flat / width;
  lo = flat % width;
}

__global__ void stats(const float* a, float* mean, float* top, int rows, int cols) {
  int block, thread;
  split(blockIdx.x * blockDim.x + threadIdx.x, 32, block, thread);
  int r = block * 32 + thread;
  if (r >= rows) return;
  float sum = 0, most = -INFINITY;
  for (int c = 0; c < cols; ++c) add_to(sum, most, a[r * cols + c]);
  mean[r] = sum / cols;
  top[r] = most;
}
