/* hone
{ "name": "class_template_functor",
  "sizes": {"N": 4096},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "apply<Scale>", "grid": ["ceildiv(N,32)"], "block": [32], "args": ["x", "y", "N", 2.5]} ] }
*/
// lift: no: the call 'f(x[i])' of an operator, an object or a pointer

struct Scale {
  float by;
  __device__ float operator()(float v) const { return v * by; }
};
template <typename F>
__global__ void apply(const float* x, float* y, int n, float by) {
  F f{by};
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = f(x[i]);
}
