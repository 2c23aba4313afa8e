/* hone {"name": "attacked_starts_of_keys", "sizes": {"N": 33554432, "B": 2048}, "check_sizes": [{"N": 2000, "B": 60}, {"N": 777, "B": 33}],
  "buffers": [{"name": "key", "type": "u32", "shape": ["N"], "fill": {"sorted": [0, "B-1"]}},
              {"name": "start", "type": "i32", "shape": ["B"], "role": "out"}],
  "launches": [{"kernel": "none", "grid": ["ceildiv(B,256)"], "block": [256], "args": ["start", "N", "B"]},
               {"kernel": "starts", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["key", "start", "N"]}]} */
// Where each key begins; N where there is none.
__global__ void none(int* start, int n, int b) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < b) start[i] = n;
}
__global__ void starts(const unsigned* key, int* start, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n && (i == 0 || key[i] != key[i - 1])) start[key[i]] = i;
}
