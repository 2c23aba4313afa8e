/* hone
{ "name": "adam_step",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1000}, {"N": 77}],
  "buffers": [
    {"name": "p", "type": "f32", "shape": ["N"], "role": "inout"},
    {"name": "g", "type": "f32", "shape": ["N"]},
    {"name": "m", "type": "f32", "shape": ["N"], "role": "inout"},
    {"name": "v", "type": "f32", "shape": ["N"], "role": "inout", "fill": {"uniform": [0, 1]}} ],
  "launches": [
    {"kernel": "adam", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["p", "g", "m", "v", 0.001, 0.9, 0.999, 1e-08, 0.1, 0.002, "N"]} ] }
*/
// lift: yes

__global__ void adam(float* p, const float* g, float* m, float* v, float lr, float b1, float b2, float eps,
                     float c1, float c2, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  m[i] = b1 * m[i] + (1 - b1) * g[i];
  v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
  float mhat = m[i] / c1;
  float vhat = v[i] / c2;
  p[i] -= lr * mhat / (sqrtf(vhat) + eps);
}
