/* hone
{ "name": "cumsum_shifted_by_joining",
  "sizes": {"N": 512, "M": 2048},
  "check_sizes": [{"N": 5, "M": 40},
                  {"N": 8, "M": 64}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N", "M"]},
    {"name": "sums", "type": "f32", "shape": ["N", "M-1"], "role": "scratch"},
    {"name": "zeros", "type": "f32", "shape": ["N", 1], "role": "scratch"},
    {"name": "y", "type": "f32", "shape": ["N", "M"], "role": "out"} ],
  "launches": [
    {"kernel": "cumsum", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "sums", "N", "M"]},
    {"kernel": "fill", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["zeros", "N"]},
    {"kernel": "join", "grid": ["ceildiv(N*M,256)"], "block": [256],
     "args": ["zeros", "sums", "y", "N", "M"]} ] }
*/
// lift: yes

// All sums but the last, behind a column of zeros: each is the sum of what is before its place.
__global__ void cumsum(const float* x, float* sums, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  double sum = 0;
  for (int c = 0; c < cols - 1; ++c) {
    sum += x[r * cols + c];
    sums[r * (cols - 1) + c] = (float)sum;
  }
}
__global__ void fill(float* zeros, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) zeros[r] = 0.f;
}
__global__ void join(const float* zeros, const float* sums, float* y, int rows, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * cols) return;
  int r = i / cols, c = i % cols;
  if (c < 1) {
    y[r * cols + c] = zeros[r + c];
  } else {
    y[r * cols + c] = sums[r * (cols - 1) + c - 1];
  }
}
