/* hone
{ "name": "extremes_that_keep_nan",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "largest", "type": "f32", "shape": ["M"], "role": "out"},
    {"name": "smallest", "type": "f32", "shape": ["M"], "role": "out"},
    {"name": "best", "type": "f32", "shape": ["M"], "role": "out"},
    {"name": "place", "type": "i32", "shape": ["M"], "role": "out"},
    {"name": "both", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "extremes", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "largest", "smallest", "M", "N"]},
    {"kernel": "first", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "best", "place", "M", "N"]},
    {"kernel": "larger", "grid": ["ceildiv(M*N,32)"], "block": [32],
     "args": ["x", "both", "M", "N"]} ] }
*/
// lift: yes

__global__ void extremes(const float* x, float* largest, float* smallest, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float most = -INFINITY, least = INFINITY;
  for (int c = 0; c < cols; ++c) {
    float v = x[r * cols + c];
    most = v > most || v != v ? v : most;
    if (c % 3 == 0) continue;
    if (v != v || v < least) least = v;
  }
  largest[r] = most;
  smallest[r] = least;
}

__global__ void first(const float* x, float* best_out, int* place, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  int where = 0;
  float best = x[r * cols];
  for (int c = 1; c < cols; ++c) {
    float v = x[r * cols + c];
    if (v > best || (v != v && best == best)) {
      best = v;
      where = c;
    }
  }
  place[r] = where;
  best_out[r] = best;
}

__global__ void larger(const float* x, float* both, int rows, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * cols) return;
  float a = x[i], b = x[rows * cols - 1 - i];
  both[i] = a > b || a != a ? a : b;
}
