/* hone
{ "name": "method_of_struct",
  "sizes": {"N": 65536},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]} ] }
*/
// lift: no: the call 'p.at(x[i])', a function of a struct

struct Poly {
  float a, b, c;
  __device__ float at(float v) const { return (a * v + b) * v + c; }
};
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Poly p = {1.f, 2.f, 3.f};
  if (i < n) y[i] = p.at(x[i]);
}
