/* hone
{ "name": "in_place_neighbours_same_block",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 64}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"], "role": "inout"},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["N/64"], "block": [64],
     "args": ["x", "y"]} ] }
*/
// lift: no: cannot be shown not to meet

// A barrier stands between, so that the neighbour has been doubled already.
__global__ void k(float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] *= 2.0f;
  __syncthreads();
  y[i] = x[blockIdx.x * blockDim.x + (threadIdx.x ^ 1)];
}
