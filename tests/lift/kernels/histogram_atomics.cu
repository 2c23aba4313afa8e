/* hone
{ "name": "histogram_atomics",
  "sizes": {"N": 1048576, "BINS": 64},
  "check_sizes": [{"N": 1000, "BINS": 16},
                  {"N": 64, "BINS": 64}],
  "buffers": [
    {"name": "x", "type": "u8", "shape": ["N"]},
    {"name": "h", "type": "i32", "shape": ["BINS"], "role": "inout", "fill": {"constant": 0}} ],
  "launches": [
    {"kernel": "count", "grid": ["ceildiv(N,128)"], "block": [128],
     "args": ["x", "h", "N", "BINS"]} ] }
*/
// lift: yes

__global__ void count(const unsigned char* x, int* h, int n, int bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&h[x[i] % bins], 1);
}
