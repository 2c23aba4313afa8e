/* hone
{ "name": "batched_matmul",
  "sizes": {"B": 64, "M": 512, "N": 512, "K": 256},
  "check_sizes": [{"B": 2, "M": 32, "N": 64, "K": 32}, {"B": 3, "M": 24, "N": 40, "K": 16},
                  {"B": 3, "M": 19, "N": 35, "K": 23}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["B", "M", "K"], "fill": {"uniform": [-1, 1]}},
    {"name": "b", "type": "f32", "shape": ["B", "K", "N"], "fill": {"uniform": [-1, 1]}},
    {"name": "c", "type": "f32", "shape": ["B", "M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "bmm", "grid": ["ceildiv(N,16)", "ceildiv(M,16)", "B"], "block": [16, 16, 1],
     "args": ["a", "b", "c", "M", "N", "K"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-4},
  "math": "reassociate",
  "flops": "2*B*M*N*K",
  "torch": "torch.bmm(a, b)" }
*/

__global__ void bmm(const float* a, const float* b, float* c, int m, int n, int k) {
  int x = threadIdx.x + blockDim.x * blockIdx.x;
  int y = threadIdx.y + blockDim.y * blockIdx.y;
  int batch = blockIdx.z;

  const float* a_batch = a + batch * m * k;
  const float* b_batch = b + batch * k * n;
  float* c_batch = c + batch * m * n;

  if (x < n && y < m) {
    float total = 0;
    for (int i = 0; i < k; i++)
      total += a_batch[y * k + i] * b_batch[i * n + x];
    c_batch[y * n + x] = total;
  }
}
