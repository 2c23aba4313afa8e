/* hone {"name": "attacked_keyed_by_constants", "sizes": {"N": 1048576}, "check_sizes": [{"N": 3000}, {"N": 1111}],
  "buffers": [{"name": "x", "type": "u64", "shape": ["N"], "fill": {"integers": [0, 1000000000000]}}, {"name": "key", "type": "u64", "shape": [1], "fill": {"constant": 11400714819323198485}},
              {"name": "y", "type": "u32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "mix", "grid": ["ceildiv(N,32)"], "block": [32], "args": ["x", "key", "y", "N"]}]} */
__global__ void mix(const unsigned long long* x, const unsigned long long* key, unsigned* y, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) y[i] = (unsigned)(x[i] * key[0] >> 32);
}
