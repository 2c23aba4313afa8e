/* hone
{ "name": "early_returns",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1048576}],
  "buffers": [
    {"name": "x", "type": "i32", "shape": ["N"]},
    {"name": "out", "type": "i32", "shape": [2], "role": "inout"},
    {"name": "seen", "type": "u32", "shape": [1], "role": "inout"}],
  "launches": [
    {"kernel": "extremes", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "out", "seen", "N"]}],
  "math": "exact" }
*/
__global__ void extremes(const int* x, int* out, unsigned int* seen, int n) {
  const int i = threadIdx.x + blockDim.x * blockIdx.x;
  if (i >= n) return;
  const int v = x[i];
  if (v % 3 == 0) { return; }
  atomicMax(out, v);
  atomicMin(&out[1], v);
  atomicOr(seen, 1u << (v & 31));
}
