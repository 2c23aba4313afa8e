/* hone {"name": "attacked_quotients", "sizes": {"N": 4194304}, "check_sizes": [{"N": 5000}, {"N": 777}],
  "buffers": [{"name": "a", "type": "i32", "shape": ["N"], "fill": {"uniform": [0, 50000000]}}, {"name": "b", "type": "i32", "shape": ["N"], "fill": {"uniform": [1, 1000000]}},
              {"name": "q", "type": "i32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "quotients", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["a", "b", "q", "N"]}]} */
__global__ void quotients(const int* a, const int* b, int* q, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) q[i] = a[i] / b[i];
}
