/* hone
{ "name": "atomic_cas_max",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "i32", "shape": [1], "role": "inout", "fill": {"constant": 0}} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["x", "y", "N"]} ] }
*/
// lift: no: the call of 'atomicCAS'

__global__ void k(const float* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int old = *y, seen;
  do {
    seen = old;
    old = atomicCAS(y, seen, __float_as_int(fmaxf(x[i], __int_as_float(seen))));
  } while (old != seen);
}
