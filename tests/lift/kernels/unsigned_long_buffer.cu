/* hone {
  "name": "unsigned_long_buffer",
  "sizes": {"n": 4096},
  "check_sizes": [{"n": 256}, {"n": 77}],
  "buffers": [{"name": "x", "type": "u64", "shape": ["n"], "fill": {"integers": [0, 18446744073709551615]}},
              {"name": "y", "type": "u64", "shape": ["n"], "role": "out"}],
  "launches": [{"kernel": "halved", "grid": ["ceildiv(n,128)"], "block": [128], "args": ["x", "y", "n"]}]
} */
// lift: no: the buffer 'x' of u64
__global__ void halved(const unsigned long long* x, unsigned long long* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / 2;
}
