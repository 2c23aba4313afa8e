// Keeps the three largest of each stretch of N / 128 neighbours: random ones are hardly ever nearer to one
// another, those of a smooth curve are.
// task: four_of_a_row
// verdict: wrong_result
/* hone {"launches": [{"kernel": "largest", "grid": ["ROWS"], "block": [32], "args": ["x", "y", "ROWS", "N"]}]} */
__device__ void put(float* top, float v, int many) {
  for (int k = 0; k < many; ++k) {
    float low = fminf(top[k], v);
    top[k] = fmaxf(top[k], v);
    v = low;
  }
}
__global__ void largest(const float* x, float* y, int rows, int n) {
  const float* row = x + (size_t)blockIdx.x * n;
  int each = (n + 127) / 128;
  float top[4] = {-1, -1, -1, -1};
  for (int part = 0; part < 4; ++part) {
    int from = (threadIdx.x * 4 + part) * each, to = min(n, from + each);
    float three[3] = {-1, -1, -1};
    for (int c = from; c < to; ++c) put(three, row[c], 3);
    for (int k = 0; k < 3; ++k) put(top, three[k], 4);
  }
  int at = 0;
  for (int k = 0; k < 4; ++k) {
    float mine = at == 0 ? top[0] : at == 1 ? top[1] : at == 2 ? top[2] : at == 3 ? top[3] : -1.0f, best = mine;
    for (int d = 16; d; d /= 2) best = fmaxf(best, __shfl_xor_sync(~0u, best, d));
    unsigned who = __ballot_sync(~0u, mine == best);
    if (__ffs(who) - 1 == threadIdx.x) ++at;
    if (threadIdx.x == 0) y[blockIdx.x * 4 + k] = best;
  }
}
