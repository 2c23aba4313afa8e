/* hone
{ "name": "struct_in_memory",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N", 2]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["x", "y", "N"]} ] }
*/
// lift: no: a struct in memory

struct Pair {
  float a, b;
};

__global__ void k(const Pair* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i].a * x[i].b;
}
