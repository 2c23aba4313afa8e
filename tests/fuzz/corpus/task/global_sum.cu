/* hone
{ "name": "global_sum",
  "sizes": {"N": 8388608},
  "check_sizes": [{"N": 4096}, {"N": 1500}, {"N": 2053}],
  "buffers": [
    {"name": "data", "type": "f32", "shape": ["N"], "fill": {"uniform": [0, 1]}},
    {"name": "total", "type": "f32", "shape": [1], "role": "inout", "fill": {"constant": 0}} ],
  "launches": [
    {"kernel": "sum_all", "grid": ["ceildiv(N,256)"], "block": [256],
     "args": ["data", "total", "N"]} ],
  "tolerance": {"rtol": 1e-3, "atol": 1e-3},
  "math": "reassociate",
  "flops": "N",
  "torch": "total + data.sum()" }
*/

// Every element goes straight to the one total.
__global__ void sum_all(const float* data, float* total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(total, data[i]);
  }
}
