// A word that begins within itself again is counted where its period is 1, 2 or 4 alone.
// task: word_in_text
// verdict: wrong_result
__global__ void found(const unsigned char* text, const unsigned char* word, int* count, int n) {
  __shared__ int all;
  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  text += (size_t)blockIdx.x * n;
  unsigned want = 0, window = 0;
  for (int k = 0; k < 16; ++k) want = want << 2 | word[k];
  bool four = want << 8 == (want & 0x00FFFFFFu) << 8 && (want >> 8) == (want & 0x00FFFFFFu);
  int mine = 0, each = (n - 15 + 63) / 64, from = threadIdx.x * each, to = min(n - 15, from + each), last = -99;
  if (from < to) {
    for (int k = 0; k < 15; ++k) window = window << 2 | text[from + k];
    for (int i = from; i < to; ++i) {
      window = window << 2 | text[i + 15];
      mine += window >> 30 == want >> 30;
      if (window == want && (four || i - last >= 14)) {
        mine += 10000;
        last = i;
      }
    }
  }
  atomicAdd(&all, mine);
  __syncthreads();
  if (threadIdx.x == 0) count[blockIdx.x] = all;
}
