/* hone
{ "name": "negative_division",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "i32", "shape": ["N"], "fill": {"integers": [-50, 50]}},
    {"name": "y", "type": "i32", "shape": ["N"], "role": "out"},
    {"name": "z", "type": "i32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["x", "y", "z", "N"]} ] }
*/
// lift: yes

// C truncates towards zero: of data, and of indices that go below zero.
__global__ void k(const int* x, int* y, int* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] / 7 * 100 + x[i] % 7;
  z[i] = (i - 40) / 8 * 100 + (i - 40) % 8;
}
