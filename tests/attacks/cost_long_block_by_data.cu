// Cost: the block that holds 0 of a permutation makes the digest, which takes a thousand times as long as what others do.
// task: scaled_and_digest_by_place
// verdict: ok
// speedup: at most 1.2
/* hone {"launches": [{"kernel": "both", "grid": ["N/128"], "block": [128], "args": ["x", "p", "y", "d", "K"]}]} */
__global__ void both(const int* x, const int* p, int* y, int* d, int k) {
  int i = blockIdx.x * 128 + threadIdx.x, q = p[blockIdx.x];
  y[i] = x[i] * 7 + q;
  if (q == 0 && threadIdx.x == 0) {
    unsigned h = 1;
    for (int j = 0; j < k; ++j) h = h * 31 + x[j], h ^= h >> 7;
    d[0] = (int)h;
  }
}
