/* hone
{"name": "saxpy", "sizes": {"N": 1000000}, "check_sizes": [{"N": 1000}], "buffers": [{"name": "X", "type": "f32", "shape": ["N"]}, {"name": "Y", "type": "f32", "shape": ["N"], "role": "inout"}], "launches": [{"kernel": "saxpy", "grid": [528], "block": [256], "args": ["N", 2.0, "X", "Y"]}]}
*/
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int stride = blockDim.x * gridDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    y[i] = a * x[i] + y[i];
  }
}
