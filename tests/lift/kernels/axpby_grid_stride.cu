/* hone
{ "name": "axpby_grid_stride",
  "sizes": {"N": 4194304},
  "check_sizes": [{"N": 1000},
                  {"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "inout"} ],
  "launches": [
    {"kernel": "axpby", "grid": [3], "block": [64],
     "args": ["x", "y", 1.5, -0.25, "N"]} ] }
*/
// lift: yes

// Grid-stride for loop over a grid that is too small.
__global__ void axpby(const float* __restrict__ x, float* __restrict__ y, float alpha, float beta,
                      int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = alpha * x[i] + beta * y[i];
}
