/* hone
{ "name": "max_pool_indices",
  "sizes": {"C": 16, "H": 64, "W": 64},
  "check_sizes": [{"C": 3, "H": 9, "W": 13}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["C", "H", "W"]},
    {"name": "y", "type": "f32", "shape": ["C", "H/2", "W/2"], "role": "out"},
    {"name": "where", "type": "i32", "shape": ["C", "H/2", "W/2"], "role": "out"} ],
  "launches": [
    {"kernel": "pool", "grid": ["ceildiv(W/2,8)", "ceildiv(H/2,8)", "C"], "block": [8, 8, 1],
     "args": ["x", "y", "where", "H", "W"]} ] }
*/
// lift: yes

__global__ void pool(const float* x, float* y, int* where, int H, int W) {
  int ow = blockIdx.x * blockDim.x + threadIdx.x, oh = blockIdx.y * blockDim.y + threadIdx.y;
  int c = blockIdx.z, OH = H / 2, OW = W / 2;
  if (ow >= OW || oh >= OH) return;
  float best = -INFINITY;
  int at = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      int flat = (c * H + oh * 2 + i) * W + ow * 2 + j;
      if (x[flat] > best) {
        best = x[flat];
        at = flat;
      }
    }
  y[(c * OH + oh) * OW + ow] = best;
  where[(c * OH + oh) * OW + ow] = at;
}
