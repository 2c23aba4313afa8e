/* hone
{ "name": "ternary_activation",
  "sizes": {"N": 4194304},
  "check_sizes": [{"N": 1000},
                  {"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"], "fill": {"normal": [0, 2]}},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "hard", "grid": ["ceildiv(N,100)"], "block": [100],
     "args": ["x", "y", "N"]} ] }
*/
// lift: yes

__global__ void hard(const float* x, float* y, unsigned int n) {
  unsigned int i = blockIdx.x * 100u + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = v < -3.f ? 0.f : v > 3.f ? v : v > 0.f ? v * (v + 3.f) / 6.f : v * (v + 3.f) * (1.f / 6.f);
}
