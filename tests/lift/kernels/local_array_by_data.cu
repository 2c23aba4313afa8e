/* hone
{ "name": "local_array_by_data",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "i32", "shape": ["N"], "fill": {"integers": [0, 3]}},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["x", "y", "N"]} ] }
*/
// lift: no: indexed by what is not known

__global__ void k(const int* x, float* y, int n) {
  const float table[4] = {0.5f, -1.f, 2.f, 8.f};
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = table[x[i]];
}
