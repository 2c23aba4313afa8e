/* hone
{ "name": "masked_fill",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "mask", "type": "u8", "shape": ["M", "N"], "fill": {"integers": [0, 1]}},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "inout"} ],
  "launches": [
    {"kernel": "fill", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 16],
     "args": ["x", "mask", "y", "M", "N"]} ] }
*/
// lift: yes

__global__ void fill(const float* x, const unsigned char* mask, float* y, int M, int N) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < M && j < N) {
    const int at = i * N + j;
    y[at] = x[at];
    if (mask[at]) y[at] = -1e9f;
  }
}
