/* hone
{
 "launches": [
  {
   "args": [
    "a",
    "b",
    "c",
    "N"
   ],
   "block": [
    256
   ],
   "grid": [
    "ceildiv(ceildiv(N,256),4)"
   ],
   "kernel": "vector_add",
   "shared_bytes": 0
  }
 ]
}
*/
// coarsen-threads(vector_add: run=2,x=4)

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  float value[4];
#pragma unroll
  for (int jx = 0; jx < 4; ++jx) {
    int i = ((blockIdx.x * 2 + jx / 2) * (blockDim.x * 2) + threadIdx.x * 2 + jx % 2);
    const int i_in = i < n - 1 ? i : n - 1;
    value[jx] = a[i_in] + b[i_in];
  }
#pragma unroll
  for (int jx = 0; jx < 4; ++jx) {
    int i = ((blockIdx.x * 2 + jx / 2) * (blockDim.x * 2) + threadIdx.x * 2 + jx % 2);
    if (i < n) c[i] = value[jx];
  }
}
