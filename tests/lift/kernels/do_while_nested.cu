/* hone
{ "name": "do_while_nested",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 33}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32], "args": ["x", "y", "N"]} ] }
*/
// lift: no: lifting the program takes more than 10 million steps: the loop at line

__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int a = 0, t = 0;
  do {
    int b = 0;
    do {
      int c = 0;
      do { t = (t * 5 + c) & 15; } while (++c < 900);
    } while (++b < 900);
  } while (++a < 900);
  y[i] = x[i] + t;
}
