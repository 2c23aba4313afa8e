/* hone
{ "name": "histogram_shared_bins",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1000}],
  "buffers": [
    {"name": "x", "type": "u8", "shape": ["N"]},
    {"name": "h", "type": "i32", "shape": [256], "role": "inout", "fill": {"constant": 0}} ],
  "launches": [
    {"kernel": "count", "grid": [4], "block": [256],
     "args": ["x", "h", "N"]} ] }
*/
// lift: no: the shared array

// Where an atomic on shared memory goes depends on data.
__global__ void count(const unsigned char* x, int* h, int n) {
  __shared__ int mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&mine[x[i]], 1);
  __syncthreads();
  atomicAdd(&h[threadIdx.x], mine[threadIdx.x]);
}
