// Of 1024 rows about 32 have a label, so a byte counts them.
// task: label_counts
// verdict: wrong_result
__global__ void counts(const float* hot, int* count, int rows) {
  int label = threadIdx.x, end = min(rows, (int)(blockIdx.x + 1) * 1024);
  unsigned char n = 0;
  for (int r = blockIdx.x * 1024; r < end; ++r) n += hot[r * 32 + label] != 0.0f;
  count[blockIdx.x * 32 + label] = n;
}
