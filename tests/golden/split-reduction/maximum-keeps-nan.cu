/* hone
{ "name": "maximum_keeps_nan",
  "sizes": {"M": 256, "N": 4096},
  "check_sizes": [{"M": 5, "N": 70}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "out", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [
    {"kernel": "largest", "grid": ["ceildiv(M,64)"], "block": [64], "args": ["x", "out", "M", "N"]}]
} */
__global__ void largest(const float* x, float* out, int rows, int count) {
  int a = blockIdx.x * blockDim.x + threadIdx.x;
  if (a < rows) {
    float result = x[a * count];
    for (int j = 1; j < count; j++) {
      float v = x[a * count + j];
      result = v > result || v != v ? v : result;
    }
    out[a] = result;
  }
}
