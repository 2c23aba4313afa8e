/* hone
{ "name": "weighted_histogram_rows",
  "sizes": {"ROWS": 512, "N": 65536, "BINS": 128},
  "check_sizes": [{"ROWS": 4, "N": 1024, "BINS": 128}, {"ROWS": 3, "N": 900, "BINS": 40},
                  {"ROWS": 5, "N": 701, "BINS": 33}],
  "buffers": [
    {"name": "keys", "type": "i32", "shape": ["ROWS", "N"], "fill": {"integers": [-10, 150]}},
    {"name": "weights", "type": "f32", "shape": ["ROWS", "N"], "fill": {"uniform": [0, 1]}},
    {"name": "sums", "type": "f32", "shape": ["ROWS", "BINS"], "role": "inout", "fill": {"constant": 0}} ],
  "launches": [
    {"kernel": "weighted_histogram", "grid": ["ceildiv(N,256)", "ROWS"], "block": [256],
     "args": ["keys", "weights", "sums", "N", "BINS"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5},
  "math": "reassociate",
  "flops": "ROWS*N",
  "torch": "sums.scatter_add(1, keys.clamp(0, sums.size(1) - 1).long(), weights * ((keys >= 0) & (keys < sums.size(1))))" }
*/

// Keys outside of the bins do not take part.
__global__ void weighted_histogram(const int* keys, const float* weights, float* sums, int n,
                                   int bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  size_t at = (size_t)blockIdx.y * n + i;
  int key = keys[at];
  if (key >= 0 && key < bins) atomicAdd(&sums[blockIdx.y * bins + key], weights[at]);
}
