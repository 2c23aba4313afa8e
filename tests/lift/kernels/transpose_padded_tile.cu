/* hone
{ "name": "transpose_padded_tile",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 37, "N": 45},
                  {"M": 32, "N": 64}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["N", "M"], "role": "out"} ],
  "launches": [
    {"kernel": "transpose", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 4],
     "args": ["y", "x", "N", "M"]} ] }
*/
// lift: yes

#define DIM 16
#define ROWS 4

__global__ void transpose(float* out, const float* in, int width, int height) {
  __shared__ float tile[DIM][DIM + 1];
  int x = blockIdx.x * DIM + threadIdx.x;
  int y = blockIdx.y * DIM + threadIdx.y;
  for (int j = 0; j < DIM; j += ROWS)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * DIM + threadIdx.x;
  y = blockIdx.x * DIM + threadIdx.y;
  for (int j = 0; j < DIM; j += ROWS)
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
