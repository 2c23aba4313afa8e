/* hone
{ "name": "matvec",
  "sizes": {"R": 1024, "C": 512},
  "check_sizes": [{"R": 1024, "C": 512}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["R", "C"]},
    {"name": "v", "type": "f32", "shape": ["C"]},
    {"name": "y", "type": "f32", "shape": ["R"], "role": "out"}],
  "launches": [
    {"kernel": "matvec", "grid": ["ceildiv(R,128)"], "block": [128], "args": ["A", "v", "y", "R", "C"]}] }
*/
__global__ void matvec(const float* A, const float* v, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    float dot = 0.0f;
    for (int col = 0; col < cols; ++col) {
      dot += A[row * cols + col] * v[col];
    }
    y[row] = dot;
  }
}
