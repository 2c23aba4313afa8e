/* hone
{ "name": "scatter_add_rows",
  "sizes": {"V": 64, "D": 64, "T": 512},
  "check_sizes": [{"V": 64, "D": 17, "T": 33}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["T", "D"]},
    {"name": "ids", "type": "i32", "shape": ["T"], "fill": {"integers": [0, 63]}},
    {"name": "y", "type": "f32", "shape": ["V", "D"], "role": "inout"} ],
  "launches": [
    {"kernel": "scatter", "grid": ["ceildiv(D,16)", "ceildiv(T,8)"], "block": [16, 8],
     "args": ["x", "ids", "y", "T", "D"]} ] }
*/
// lift: yes

__global__ void scatter(const float* x, const int* ids, float* y, int T, int D) {
  int d = blockIdx.x * 16 + threadIdx.x, t = blockIdx.y * 8 + threadIdx.y;
  if (d < D && t < T) atomicAdd(&y[ids[t] * D + d], x[t * D + d]);
}
