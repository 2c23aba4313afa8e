/* hone
{ "name": "local_array_polynomial",
  "sizes": {"N": 4194304},
  "check_sizes": [{"N": 1000},
                  {"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "poly", "grid": ["ceildiv(N,128)"], "block": [128],
     "args": ["x", "y", "N"]} ] }
*/
// lift: yes

__global__ void poly(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float c[5] = {1.0f, -0.5f, 0.25f, -0.125f, 0.0625f};
  float p[5];
  p[0] = 1.0f;
  for (int k = 1; k < 5; ++k) p[k] = p[k - 1] * x[i];
  float sum = 0;
  for (int k = 0; k < 5; ++k) sum += c[k] * p[k];
  y[i] = sum;
}
