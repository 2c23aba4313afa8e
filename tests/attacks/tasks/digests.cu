/* hone {"name": "attacked_digests", "sizes": {"N": 33792, "R": 512}, "check_sizes": [{"N": 1024, "R": 64}, {"N": 512, "R": 128}],
  "constraints": ["N % 512 == 0", "R % 64 == 0"],
  "buffers": [{"name": "x", "type": "u32", "shape": ["N"], "fill": {"integers": [0, 4294967295]}},
              {"name": "y", "type": "u32", "shape": [32], "role": "out"}],
  "launches": [{"kernel": "zero", "grid": [1], "block": [32], "args": ["y"]}, {"kernel": "mix", "grid": ["N/256"], "block": [256], "args": ["x", "y", "N", "R"]}]} */
// Each word through R rounds; y[k]: the exclusive or of all with i % 32 == k.
__global__ void zero(unsigned* y) { y[threadIdx.x] = 0; }
__global__ void mix(const unsigned* x, unsigned* y, int n, int r) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned v = x[i];
  for (int k = 0; k < r; ++k) v = v * 747796405u + (v >> 9);
  atomicXor(y + i % 32, v);
}
