/* hone
{ "name": "causal_mask_branches",
  "sizes": {"N": 512},
  "check_sizes": [{"N": 45},
                  {"N": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N", "N"]},
    {"name": "y", "type": "f32", "shape": ["N", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "mask", "grid": ["ceildiv(N,16)", "ceildiv(N,16)"], "block": [16, 16],
     "args": ["x", "y", "N"]} ] }
*/
// lift: yes

__global__ void mask(const float* x, float* y, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n) return;
  if (j > i)
    y[i * n + j] = 0;
  else
    y[i * n + j] = x[i * n + j] * 0.125f;
}
