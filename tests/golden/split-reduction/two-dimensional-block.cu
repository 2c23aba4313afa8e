/* hone
{ "name": "two_dimensional_block",
  "sizes": {"R": 256, "C": 512},
  "check_sizes": [{"R": 256, "C": 512}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["R", "C"]},
    {"name": "g", "type": "f32", "shape": ["R", "R"], "role": "out"}],
  "launches": [
    {"kernel": "gram", "grid": ["ceildiv(R,16)", "ceildiv(R,16)"], "block": [16, 16], "args": ["x", "g", "R", "C"]}] }
*/
__global__ void gram(const float* x, float* g, int rows, int cols) {
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows && j < rows) {
    float acc = 0.0f;
    for (int k = 0; k < cols; k++) acc = fmaf(x[i * cols + k], x[j * cols + k], acc);
    g[i * rows + j] = acc;
  }
}
