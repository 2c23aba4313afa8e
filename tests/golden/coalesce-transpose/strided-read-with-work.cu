/* hone
{ "name": "strided_read_with_work",
  "sizes": {"B": 4, "H": 128, "W": 96},
  "check_sizes": [{"B": 4, "H": 128, "W": 96}],
  "buffers": [
    {"name": "in", "type": "f32", "shape": ["B", "W", "H"]},
    {"name": "bias", "type": "f32", "shape": ["B"]},
    {"name": "out", "type": "f32", "shape": ["B", "H", "W"], "role": "out"}],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(W,32)", "ceildiv(H,8)", "B"], "block": [32, 8], "args": ["in", "bias", "out", "H", "W"]}],
  "math": "exact" }
*/
__global__ void k(const float* in, const float* bias, float* out, int rows, int cols) {
  const int c = threadIdx.x + blockIdx.x * blockDim.x;
  const int r = threadIdx.y + blockIdx.y * blockDim.y;
  const int b = blockIdx.z;
  if (r < rows && c < cols) {
    const float v = in[(b * cols + c) * rows + r] + bias[b];
    out[(b * rows + r) * cols + c] = v > 0.0f ? v : 0.1f * v;
  }
}
