/* hone
{ "name": "same_buffer_twice",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"], "role": "inout"},
    {"name": "y", "type": "f32", "shape": ["N"]} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["x", "y", "x", "N"]} ] }
*/
// lift: yes

// a and c are one buffer.
__global__ void k(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  c[i] = a[i] + b[i];
  c[i] = a[i] * b[i];
}
