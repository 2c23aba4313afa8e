// A helper function computes the thread's index: it would have to change too.
/* hone
{ "name": "helper_sees_threads",
  "sizes": {"R": 1024, "C": 512},
  "check_sizes": [{"R": 1024, "C": 512}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["R", "C"]},
    {"name": "y", "type": "f32", "shape": ["R"], "role": "out"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(R,64)"], "block": [64], "args": ["x", "y", "R", "C"]}] }
*/
__device__ int my_row() { return blockIdx.x * blockDim.x + threadIdx.x; }
__global__ void k(const float* x, float* y, int rows, int cols) {
  if (my_row() >= rows) return;
  float acc = 0.0f;
  for (int i = 0; i < cols; ++i) acc += x[my_row() * cols + i];
  y[my_row()] = acc;
}
