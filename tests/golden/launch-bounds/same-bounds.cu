/* hone
{"name": "add", "sizes": {"N": 1000000}, "check_sizes": [{"N": 1000}, {"N": 77}], "buffers": [{"name": "A", "type": "f32", "shape": ["N"]}, {"name": "B", "type": "f32", "shape": ["N"]}, {"name": "C", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "add", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["A", "B", "C", "N"]}]}
*/
#define THREADS 256
__global__ void __launch_bounds__(THREADS, 2) add(float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
