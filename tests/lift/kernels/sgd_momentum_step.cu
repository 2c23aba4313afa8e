/* hone
{ "name": "sgd_momentum_step",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1000}, {"N": 77}],
  "buffers": [
    {"name": "w", "type": "f32", "shape": ["N"], "role": "inout"},
    {"name": "g", "type": "f32", "shape": ["N"]},
    {"name": "u", "type": "f32", "shape": ["N"], "role": "inout"} ],
  "launches": [
    {"kernel": "sgd", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["w", "g", "u", 0.01, 0.9, "N"]} ] }
*/
// lift: yes

__global__ void sgd(float* w, const float* g, float* u, float lr, float mu, int n) {
  int stride = blockDim.x * gridDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    u[i] = mu * u[i] + g[i];
    w[i] -= lr * u[i];
  }
}
