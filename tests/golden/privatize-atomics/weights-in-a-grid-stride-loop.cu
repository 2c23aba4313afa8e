/* hone
{ "name": "weights_in_a_grid_stride_loop",
  "sizes": {"N": 1048576, "B": 100},
  "check_sizes": [{"N": 1048576, "B": 100}],
  "buffers": [
    {"name": "keys", "type": "i32", "shape": ["N"]},
    {"name": "w", "type": "f32", "shape": ["N"]},
    {"name": "table", "type": "f32", "shape": ["B"], "role": "inout"}],
  "launches": [
    {"kernel": "scatter", "grid": [128], "block": [256], "args": ["keys", "w", "table", "N", "B"]}] }
*/
__global__ void scatter(const int* keys, const float* w, float* table, int n, int bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    int k = keys[i];
    if (k < bins) atomicAdd(table + k, w[i]);
  }
}
