/* hone
{ "name": "user_struct_complex",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 250},
                  {"N": 64}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["N", 2]},
    {"name": "b", "type": "f32", "shape": ["N", 2]},
    {"name": "c", "type": "f32", "shape": ["N", 2], "role": "out"} ],
  "launches": [
    {"kernel": "multiply", "grid": ["ceildiv(N,64)"], "block": [64],
     "args": ["a", "b", "c", "N"]} ] }
*/
// lift: yes

struct Complex {
  float re, im;
};

__device__ inline Complex mul(Complex a, Complex b) {
  Complex c;
  c.re = a.re * b.re - a.im * b.im;
  c.im = a.re * b.im + a.im * b.re;
  return c;
}

__global__ void multiply(const float* a, const float* b, float* c, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) {
    Complex x = {a[2 * i], a[2 * i + 1]};
    Complex y = {b[2 * i], b[2 * i + 1]};
    Complex z = mul(x, y);
    c[2 * i] = z.re;
    c[2 * i + 1] = z.im;
  }
}
