/* hone
{ "name": "histogram",
  "sizes": {"N": 1048576, "B": 100},
  "check_sizes": [{"N": 1048576, "B": 100}],
  "buffers": [
    {"name": "keys", "type": "i32", "shape": ["N"]},
    {"name": "counts", "type": "i32", "shape": ["B"], "role": "inout"}],
  "launches": [
    {"kernel": "histogram", "grid": ["ceildiv(N,512)"], "block": [512], "args": ["keys", "counts", "N", "B"]}] }
*/
__global__ void histogram(const int* keys, int* counts, int n, int bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int bin = keys[i] % bins;
    atomicAdd(&counts[bin], 1);
  }
}
