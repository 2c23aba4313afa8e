/* hone
{ "name": "constant_table_at_file_scope",
  "sizes": {"N": 65536},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]} ] }
*/
// lift: no: 'taps', a variable at file scope

__constant__ float taps[3] = {0.25f, 0.5f, 0.25f};
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int j = -1; j <= 1; ++j) s += taps[j + 1] * x[min(max(i + j, 0), n - 1)];
  y[i] = s;
}
