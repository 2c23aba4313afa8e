/* hone
{ "name": "template_callable",
  "sizes": {"N": 65536},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]} ] }
*/
// lift: no: the call of 'for_each', a template of which hone does not follow one instantiation

struct Square {
  __device__ float operator()(float v) const { return v * v; }
};
template <typename F>
__device__ void for_each(const float* x, float* y, int n, F f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = f(x[i]);
}
__global__ void k(const float* x, float* y, int n) { for_each(x, y, n, Square()); }
