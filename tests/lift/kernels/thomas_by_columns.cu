/* hone
{ "name": "thomas_by_columns",
  "sizes": {"N": 32768, "M": 64},
  "check_sizes": [{"N": 37, "M": 33}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["N", "M"]},
    {"name": "b", "type": "f32", "shape": ["N", "M"], "fill": {"uniform": [3, 4]}},
    {"name": "c", "type": "f32", "shape": ["N", "M"]},
    {"name": "d", "type": "f32", "shape": ["N", "M"]},
    {"name": "cp", "type": "f32", "shape": ["N", "M"], "role": "scratch"},
    {"name": "x", "type": "f32", "shape": ["N", "M"], "role": "out"} ],
  "launches": [
    {"kernel": "thomas", "grid": ["ceildiv(M,64)"], "block": [64], "args": ["a", "b", "c", "d", "cp", "x", "N", "M"]} ] }
*/
// lift: yes

// A thread per system: coefficients are kept in memory between the sweeps.
__global__ void thomas(const float* a, const float* b, const float* c, const float* d, float* cp, float* x,
                       int rows, int systems) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= systems) return;
  cp[s] = c[s] / b[s];
  x[s] = d[s] / b[s];
  for (int i = 1; i < rows; i++) {
    int at = i * systems + s, before = at - systems;
    float m = 1.0f / (b[at] - a[at] * cp[before]);
    cp[at] = c[at] * m;
    x[at] = (d[at] - a[at] * x[before]) * m;
  }
  for (int i = rows - 2; i >= 0; i--) {
    int at = i * systems + s;
    x[at] = x[at] - cp[at] * x[at + systems];
  }
}
