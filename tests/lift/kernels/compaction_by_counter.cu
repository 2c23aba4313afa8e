/* hone
{ "name": "compaction_by_counter",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "inout"},
    {"name": "count", "type": "i32", "shape": [1], "role": "inout", "fill": {"constant": 0}} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["x", "y", "count", "N"]} ] }
*/
// lift: no: the result of an atomic operation

__global__ void k(const float* x, float* y, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) {
    int at = atomicAdd(count, 1);
    y[at] = x[i];
  }
}
