/* hone {"name": "attacked_word_in_text", "sizes": {"ROWS": 1024, "N": 4096}, "check_sizes": [{"ROWS": 12, "N": 512}, {"ROWS": 5, "N": 300}],
  "buffers": [{"name": "text", "type": "u8", "shape": ["ROWS", "N"], "fill": {"integers": [0, 3]}}, {"name": "word", "type": "u8", "shape": [16], "fill": {"integers": [0, 3]}},
              {"name": "count", "type": "i32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "found", "grid": ["ROWS"], "block": [64], "args": ["text", "word", "count", "N"]}]} */
// 10000 for each place of a row at which the word stands, and 1 for each at which its first letter does.
__global__ void found(const unsigned char* text, const unsigned char* word, int* count, int n) {
  __shared__ int all;
  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  text += (size_t)blockIdx.x * n;
  int mine = 0;
  for (int i = threadIdx.x; i + 16 <= n; i += 64) {
    bool same = true;
    for (int k = 0; k < 16; ++k) same = same && text[i + k] == word[k];
    mine += 10000 * same + (text[i] == word[0]);
  }
  atomicAdd(&all, mine);
  __syncthreads();
  if (threadIdx.x == 0) count[blockIdx.x] = all;
}
