/* hone
{ "name": "inline_asm",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "i32", "shape": ["N"]},
    {"name": "y", "type": "i32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["x", "y", "N"]} ] }
*/
// lift: no: a statement that hone does not follow

__global__ void k(const int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v;
  asm("add.s32 %0, %1, %1;" : "=r"(v) : "r"(x[i]));
  y[i] = v;
}
