/* hone
{ "name": "switch_by_size",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32], "args": ["x", "y", "N"]} ] }
*/
// lift: yes

__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  switch (i % 4) {
    case 0:
      v = fmaxf(v, 0.f);
      break;
    case 1:
    case 2:
      v = tanhf(v);
      break;
    default:
      v = v * v;
  }
  y[i] = v;
}
