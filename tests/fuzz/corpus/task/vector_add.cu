/* hone
{ "name": "vector_add",
  "sizes": {"N": 134217728},
  "check_sizes": [{"N": 4096}, {"N": 1000}, {"N": 4099}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["N"], "fill": {"uniform": [-1, 1]}},
    {"name": "b", "type": "f32", "shape": ["N"], "fill": {"uniform": [-1, 1]}},
    {"name": "c", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "vector_add", "grid": ["ceildiv(N,256)"], "block": [256],
     "args": ["a", "b", "c", "N"]} ],
  "tolerance": {"rtol": 1e-6, "atol": 1e-6},
  "flops": "N",
  "torch": "a + b" }
*/

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    c[i] = a[i] + b[i];
  }
}
