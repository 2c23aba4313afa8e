/* hone
{ "name": "union_bits",
  "sizes": {"N": 65536},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]} ] }
*/
// lift: no: a statement that hone does not follow: 'union { float f; unsigned u; } bits;'

__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  union { float f; unsigned u; } bits;
  bits.f = x[i];
  bits.u ^= 0x80000000u;
  y[i] = bits.f;
}
