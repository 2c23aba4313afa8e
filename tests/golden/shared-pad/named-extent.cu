/* hone
{"name": "t", "sizes": {"N": 256}, "check_sizes": [{"N": 64}], "buffers": [{"name": "in", "type": "f32", "shape": ["N", "N"], "fill": {"uniform": [-1, 1]}}, {"name": "out", "type": "f32", "shape": ["N", "N"], "role": "out"}], "launches": [{"kernel": "transpose", "grid": ["N/32", "N/32"], "block": [32, 32], "args": ["in", "out", "N"]}]}
*/
#define TILE 32
constexpr int kColumns = TILE;
__global__ void transpose(const float* in, float* out, int n) {
  __shared__ float tile[TILE][kColumns];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  out[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] =
      tile[threadIdx.x][threadIdx.y];
}
