/* hone {"name": "attacked_group_sums", "sizes": {"N": 4194304}, "check_sizes": [{"N": 8192}, {"N": 5000}],
  "buffers": [{"name": "x", "type": "i32", "shape": ["N"], "fill": {"integers": [-1000, 1000]}},
              {"name": "y", "type": "i32", "shape": [16], "role": "out"}],
  "launches": [{"kernel": "zero", "grid": [1], "block": [16], "args": ["y"]},
               {"kernel": "sums", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "y", "N"]}]} */
// y[k]: the sum of all x[i] with i / 256 % 16 == k.
__global__ void zero(int* y) { y[threadIdx.x] = 0; }
__global__ void sums(const int* x, int* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  int v = i < n ? x[i] : 0;
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) atomicAdd(&y[blockIdx.x % 16], v);
}
