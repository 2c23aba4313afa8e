/* hone {"name": "attacked_bytes_below", "sizes": {"N": 4194304}, "check_sizes": [{"N": 300}, {"N": 517}], "buffers": [{"name": "a", "type": "i32", "shape": ["N"], "fill": {"integers": [0, 2147483647]}}, {"name": "b", "type": "i32", "shape": ["N"], "fill": {"integers": [0, 2147483647]}}, {"name": "y", "type": "i32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "below", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["a", "b", "y", "N"]}]} */
// Of four bytes in a word, which are below those of another; eight rounds.
__global__ void below(const int* a, const int* b, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned p = a[i], q = b[i], all = 0;
  for (int r = 0; r < 8; ++r) {
    // Borrow-free subtraction in each byte: the top bit says which is below.
    unsigned d = (p | 0x80808080u) - (q & 0x7f7f7f7fu);
    unsigned less = (~p & q) | (~(p ^ q) & ~d);
    unsigned ones = (less & 0x80808080u) >> 7;
    all += ones;
    p = p * 5 + ones + r;
  }
  y[i] = (int)all;
}
