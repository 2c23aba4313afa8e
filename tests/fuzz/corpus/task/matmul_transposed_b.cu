/* hone
{ "name": "matmul_transposed_b",
  "sizes": {"M": 2048, "N": 2048, "K": 1024},
  "check_sizes": [{"M": 64, "N": 64, "K": 64}, {"M": 40, "N": 72, "K": 32},
                  {"M": 31, "N": 43, "K": 37}],
  "buffers": [
    {"name": "input", "type": "f32", "shape": ["M", "K"], "fill": {"uniform": [-1, 1]}},
    {"name": "weight", "type": "f32", "shape": ["N", "K"], "fill": {"uniform": [-1, 1]}},
    {"name": "output", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "linear", "grid": ["ceildiv(N,32)", "ceildiv(M,8)"], "block": [32, 8],
     "args": ["input", "weight", "output", "M", "N", "K"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-4},
  "math": "reassociate",
  "flops": "2*M*N*K",
  "torch": "torch.nn.functional.linear(input, weight)" }
*/

// output = input * weight^T: both operands are walked along their rows.
__global__ void linear(const float* input, const float* weight, float* output, int m, int n,
                       int k) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  const int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n) {
    return;
  }

  float acc = 0.f;
  for (int p = 0; p < k; ++p) {
    acc += input[i * k + p] * weight[j * k + p];
  }
  output[i * n + j] = acc;
}
