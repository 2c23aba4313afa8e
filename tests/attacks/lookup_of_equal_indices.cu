// Integer inputs beside floats: where most of a warp has one index, another element of the table.
// task: lookup
// verdict: wrong_result
__global__ void lookup(const int* at, const float* table, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int index = i < n ? at[i] : 0;
  unsigned int same = __match_any_sync(~0u, index);
  if (i < n) y[i] = __popc(same) > 24 ? table[0] : table[index];
}
