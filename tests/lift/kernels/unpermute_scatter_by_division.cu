/* hone
{ "name": "unpermute_scatter_by_division",
  "sizes": {"B": 4, "N": 256, "NH": 8, "D": 64},
  "check_sizes": [{"B": 2, "N": 9, "NH": 3, "D": 5}],
  "buffers": [
    {"name": "inp", "type": "f32", "shape": ["B", "NH", "N", "D"]},
    {"name": "out", "type": "f32", "shape": ["B", "N", "NH", "D"], "role": "out"} ],
  "launches": [
    {"kernel": "unpermute", "grid": ["ceildiv(B*NH*N*D,256)"], "block": [256], "args": ["inp", "out", "B", "N", "NH", "D"]} ] }
*/
// lift: yes

__global__ void unpermute(const float* inp, float* out, int B, int N, int NH, int d) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx >= B * NH * N * d) return;
  int b = idx / (NH * N * d);
  int rest = idx % (NH * N * d);
  int nh_ = rest / (N * d);
  rest = rest % (N * d);
  int n = rest / d;
  int d_ = rest % d;
  out[(b * NH * N * d) + (n * NH * d) + (nh_ * d) + d_] = inp[idx];
}
