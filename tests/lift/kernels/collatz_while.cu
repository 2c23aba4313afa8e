/* hone
{ "name": "collatz_while",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "i32", "shape": ["N"], "fill": {"integers": [1, 50]}},
    {"name": "y", "type": "i32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["x", "y", "N"]} ] }
*/
// lift: no: number of rounds is not known

__global__ void k(const int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = x[i], steps = 0;
  while (v != 1) {
    v = v % 2 == 0 ? v / 2 : 3 * v + 1;
    ++steps;
  }
  y[i] = steps;
}
