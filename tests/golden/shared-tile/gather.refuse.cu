// the index comes from memory
/* hone
{"name": "m", "sizes": {"N": 256}, "check_sizes": [{"N": 64}], "buffers": [{"name": "a", "type": "f32", "shape": ["N"], "fill": {"uniform": [-1, 1]}}, {"name": "p", "type": "i32", "shape": ["N"], "fill": {"integers": [0, 9]}}, {"name": "s", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "f", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["a", "p", "s", "N"]}]}
*/
__global__ void f(const float* a, const int* p, float* s, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  float sum = 0.f;
  const int first = p[i];
  for (int k = 0; k < 9; ++k) sum += a[first] * k;
  s[i] = sum;
}
