// Each thread adds up its own elements: with others, its partial sum would be another.
/* hone
{"name": "partial", "sizes": {"N": 100000}, "check_sizes": [{"N": 4096}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["N"]},
   {"name": "s", "type": "f32", "shape": [1024], "role": "out"}],
 "launches": [
   {"kernel": "partial", "grid": [8], "block": [128], "args": ["x", "s", "N"]}]}
*/
__global__ void partial(const float* x, float* s, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int i = t; i < n; i += blockDim.x * gridDim.x) sum += x[i];
  s[t] = sum;
}
