/* hone
{ "name": "in_place_halves",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["2*N"], "role": "inout"} ],
  "launches": [
    {"kernel": "swap", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["x", "N"]} ] }
*/
// lift: yes

// Each thread exchanges x[i] and x[n + i].
__global__ void swap(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float t = x[i];
  x[i] = x[i + n];
  x[i + n] = t;
}
