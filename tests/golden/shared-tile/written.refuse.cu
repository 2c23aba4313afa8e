// the loop reads a buffer that the kernel writes
/* hone
{"name": "m", "sizes": {"N": 256}, "check_sizes": [{"N": 64}], "buffers": [{"name": "a", "type": "f32", "shape": ["N", "N"], "fill": {"uniform": [-1, 1]}}, {"name": "c", "type": "f32", "shape": ["N", "N"], "role": "inout", "fill": {"constant": 0}}], "launches": [{"kernel": "f", "grid": ["N/16", "N/16"], "block": [16, 16], "args": ["a", "c", "N"]}]}
*/
__global__ void f(const float* a, float* c, int n) {
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float sum = 0.f;
  for (int k = 0; k < n; ++k) sum += c[row * n + k];
  c[row * n + col] = sum + a[row * n + col];
}
