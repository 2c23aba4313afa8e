/* hone
{ "name": "nested_constant_rounds",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 33}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32], "args": ["x", "y", "N"]} ] }
*/
// lift: no: has 1000 rounds, and at most 64 are done one after the other

__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int a = 0; a < 1000; a++)
    for (int b = 0; b < 1000; b++)
      for (int c = 0; c < 1000; c++) v = v * v - 0.5f;
  y[i] = v;
}
