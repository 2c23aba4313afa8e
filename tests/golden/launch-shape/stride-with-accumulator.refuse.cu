// Each thread's sum depends on how many threads there are.
/* hone
{"name": "partial", "sizes": {"N": 65536}, "check_sizes": [{"N": 1000}], "buffers": [{"name": "X", "type": "f32", "shape": ["N"]}, {"name": "P", "type": "f32", "shape": [1024], "role": "out"}], "launches": [{"kernel": "partial", "grid": [4], "block": [256], "args": ["X", "P", "N"]}]}
*/
__global__ void partial(const float* x, float* p, int n) {
  float sum = 0.0f;
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = id; i < n; i += blockDim.x * gridDim.x) sum += x[i];
  p[id] = sum;
}
