/* hone
{ "name": "guarded_neighbour_loads",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["x", "y", "N"]} ] }
*/
// lift: yes

// The conditions keep the loads inside.
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  if (i > 0 && x[i - 1] > v) v = x[i - 1];
  if (i == n - 1 || x[i + 1] <= v) {
    y[i] = v;
  } else {
    y[i] = x[i + 1];
  }
}
