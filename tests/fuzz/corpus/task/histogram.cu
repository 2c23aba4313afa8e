/* hone
{ "name": "histogram",
  "sizes": {"N": 16777216, "BINS": 256},
  "check_sizes": [{"N": 4096, "BINS": 256}, {"N": 3000, "BINS": 64}, {"N": 2503, "BINS": 37}],
  "buffers": [
    {"name": "keys", "type": "i32", "shape": ["N"], "fill": {"integers": [0, 1000000]}},
    {"name": "counts", "type": "i32", "shape": ["BINS"], "role": "inout", "fill": {"constant": 0}} ],
  "launches": [
    {"kernel": "histogram", "grid": ["ceildiv(N,512)"], "block": [512],
     "args": ["keys", "counts", "N", "BINS"]} ],
  "tolerance": {"rtol": 0, "atol": 0},
  "torch": "counts + torch.bincount(keys % counts.numel(), minlength=counts.numel())" }
*/

__global__ void histogram(const int* keys, int* counts, int n, int bins) {
  int tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid < n) {
    int bin = keys[tid] % bins;
    atomicAdd(&counts[bin], 1);
  }
}
