// a return inside a loop ends one thread, it must not end the other replicas
/* hone
{"name": "f", "sizes": {"N": 8192}, "check_sizes": [{"N": 512}], "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [-1, 1]}}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "f", "grid": ["ceildiv(N,256)"], "block": [64], "args": ["x", "y", "N"]}]}
*/
__global__ void f(const float* x, float* y, int n) {
  int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  for (int i = first; i < first + 4; ++i) {
    if (i >= n) return;
    y[i] = x[i];
  }
}
