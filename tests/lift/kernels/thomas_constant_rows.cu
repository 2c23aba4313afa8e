/* hone
{ "name": "thomas_constant_rows",
  "sizes": {"M": 64},
  "check_sizes": [{"M": 3}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": [32768, "M"]},
    {"name": "b", "type": "f32", "shape": [32768, "M"], "fill": {"uniform": [3, 4]}},
    {"name": "c", "type": "f32", "shape": [32768, "M"]},
    {"name": "d", "type": "f32", "shape": [32768, "M"]},
    {"name": "cp", "type": "f32", "shape": [32768, "M"], "role": "scratch"},
    {"name": "x", "type": "f32", "shape": [32768, "M"], "role": "out"} ],
  "launches": [
    {"kernel": "thomas", "grid": ["ceildiv(M,64)"], "block": [64], "args": ["a", "b", "c", "d", "cp", "x", "M"]} ] }
*/
// lift: no: has 32768 rounds, and at most 64 are done one after the other

#define ROWS 32768
// The same with a constant length, what is carried in registers.
__global__ void thomas(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c,
                       const float* __restrict__ d, float* __restrict__ cp, float* __restrict__ x, int systems) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= systems) return;
  float c_last = 0.0f, d_last = 0.0f;
  for (int i = 0; i < ROWS; ++i) {
    float w = b[i * systems + s] - a[i * systems + s] * c_last;
    c_last = c[i * systems + s] / w;
    d_last = (d[i * systems + s] - a[i * systems + s] * d_last) / w;
    cp[i * systems + s] = c_last;
    x[i * systems + s] = d_last;
  }
  for (int i = ROWS - 2; i >= 0; --i) {
    d_last = x[i * systems + s] - cp[i * systems + s] * d_last;
    x[i * systems + s] = d_last;
  }
}
