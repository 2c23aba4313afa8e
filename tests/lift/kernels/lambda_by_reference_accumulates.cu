/* hone
{ "name": "lambda_by_reference_accumulates",
  "sizes": {"N": 65536},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]} ] }
*/
// lift: no: an expression that hone does not follow: '[&](float v) { sum += v; }'

__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  auto add = [&](float v) { sum += v; };
  for (int j = 0; j < 4; ++j) add(x[(i + j) % n]);
  y[i] = sum;
}
