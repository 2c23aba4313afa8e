/* hone
{ "name": "operator_overloads_complex",
  "sizes": {"N": 65536},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]} ] }
*/
// lift: no: the call 'z * z + z' of an operator, an object or a pointer

struct Complex {
  float re, im;
};
__device__ Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
__device__ Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Complex z = {x[i], 0.5f};
  z = z * z + z;
  y[i] = z.re + z.im;
}
