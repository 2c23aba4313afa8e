/* hone
{ "name": "unsigned_hash",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "y", "type": "u32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["y", "N"]} ] }
*/
// lift: no: wrap around

__global__ void k(unsigned int* y, int n) {
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned int h = (i + 1u) * 2654435761u;
  y[i] = h >> 16;
}
