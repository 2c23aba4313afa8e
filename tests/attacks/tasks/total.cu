/* hone {"name": "attacked_total", "sizes": {"N": 1048576}, "check_sizes": [{"N": 300}, {"N": 517}], "buffers": [{"name": "a", "type": "i32", "shape": ["N"], "fill": {"integers": [0, 100]}}, {"name": "total", "type": "i32", "shape": [1], "role": "inout", "fill": {"constant": 0}}], "launches": [{"kernel": "total_of", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["a", "total", "N"]}]} */
__global__ void total_of(const int* a, int* total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(total, a[i]);
}
