/* hone
{ "name": "matvec",
  "sizes": {"M": 16384, "N": 8192},
  "check_sizes": [{"M": 256, "N": 64}, {"M": 100, "N": 48}, {"M": 131, "N": 67}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["M", "N"], "fill": {"uniform": [-1, 1]}},
    {"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [-1, 1]}},
    {"name": "y", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "matvec", "grid": ["ceildiv(M,128)"], "block": [128],
     "args": ["A", "x", "y", "M", "N"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-4},
  "math": "reassociate",
  "flops": "2*M*N",
  "torch": "torch.mv(A, x)" }
*/

// One thread per row.
__global__ void matvec(const float* A, const float* x, float* y, int M, int N) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < M) {
    float dot = 0.0f;
    for (int col = 0; col < N; ++col) {
      dot += A[row * N + col] * x[col];
    }
    y[row] = dot;
  }
}
