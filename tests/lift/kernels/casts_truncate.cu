/* hone
{ "name": "casts_truncate",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [-9, 9]}},
    {"name": "y", "type": "i32", "shape": ["N"], "role": "out"},
    {"name": "z", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["x", "y", "z", "N"]} ] }
*/
// lift: yes

__global__ void k(const float* x, int* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int whole = (int)x[i];
  y[i] = whole * 10 + (x[i] > 0.1 ? 1 : 0);
  z[i] = x[i] - (float)whole + (float)(i / 4) + (double)x[i] * 0.1;
}
