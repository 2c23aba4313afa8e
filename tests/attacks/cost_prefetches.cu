// Cost: asks the L2 for rows that nobody needs.
// task: gathered_blocks
// verdict: ok
// speedup: at most 0.6
__global__ void gather(const float* table, const int* row, float* y, int v, int n) {
  int i = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (i >= n) return;
  int r = row[i];
  asm volatile("prefetch.global.L2 [%0];" ::"l"(table + (size_t)((unsigned)(r + lane * 7919) % (unsigned)v) * 32));
  y[i * 32 + lane] = 2.0f * table[(size_t)r * 32 + lane];
}
