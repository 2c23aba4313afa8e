/* hone
{ "name": "logistic_map_rounds",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 33}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32], "args": ["x", "y", "N"]} ] }
*/
// lift: no: 'v', which a loop carries from round to round, cannot be shown to be a reduction or a prefix; the loop at line 17 has 100000 rounds, and at most 64 are done one after the other

__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int t = 0; t < 100000; t++) v = 3.7f * v * (1.0f - v);
  y[i] = v;
}
