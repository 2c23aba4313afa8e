/* hone
{ "name": "embedding_lookup",
  "sizes": {"V": 1024, "D": 64, "T": 512},
  "check_sizes": [{"V": 64, "D": 17, "T": 33}],
  "buffers": [
    {"name": "table", "type": "f32", "shape": ["V", "D"]},
    {"name": "ids", "type": "i64", "shape": ["T"], "fill": {"integers": [0, 63]}},
    {"name": "y", "type": "f32", "shape": ["T", "D"], "role": "out"} ],
  "launches": [
    {"kernel": "gather", "grid": ["T"], "block": [32],
     "args": ["table", "ids", "y", "D"]} ] }
*/
// lift: yes

__global__ void gather(const float* table, const long long* ids, float* y, int dim) {
  const float* from = table + ids[blockIdx.x] * dim;
  for (int d = threadIdx.x; d < dim; d += blockDim.x) y[blockIdx.x * dim + d] = from[d];
}
