/* hone
{"name": "clamp", "sizes": {"N": 100000}, "check_sizes": [{"N": 4096}, {"N": 4099}, {"N": 3}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["N"]},
   {"name": "y", "type": "f32", "shape": ["N"], "role": "inout"}],
 "launches": [
   {"kernel": "clamp", "grid": [8], "block": [128], "args": ["x", "y", "N"]}]}
*/
// A fixed grid walks over all elements.
__global__ void clamp(const float* x, float* y, int n) {
  int stride = blockDim.x * gridDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    float v = x[i];
    if (v > y[i]) v = y[i];
    y[i] = fmaxf(v, 0.0f);
  }
}
