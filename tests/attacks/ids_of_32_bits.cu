// Ids are told apart by their halves, added up in 32 bits.
// task: distinct_ids
// verdict: wrong_result
__global__ void distinct(const long long* id, int* many, int cols) {
  __shared__ int sum;
  __shared__ unsigned own[128];
  if (threadIdx.x == 0) sum = 0;
  const long long* row = id + (size_t)blockIdx.x * cols;
  int c = threadIdx.x, before = 0;
  if (c < cols) own[c] = (unsigned)row[c] + (unsigned)(row[c] >> 32);
  __syncthreads();
  if (c < cols) {
    for (int k = 0; k < c; ++k) before |= own[k] == own[c];
    if (!before) atomicAdd(&sum, 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) many[blockIdx.x] = sum + (int)(row[0] % 10) * 1000;
}
