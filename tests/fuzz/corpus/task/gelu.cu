/* hone
{ "name": "gelu",
  "sizes": {"N": 134217728},
  "check_sizes": [{"N": 2048}, {"N": 1536}, {"N": 2039}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"], "fill": {"normal": [0, 2]}},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "gelu_forward", "grid": ["ceildiv(N,128)"], "block": [128],
     "args": ["x", "y", "N"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5},
  "flops": "10*N",
  "torch": "torch.nn.functional.gelu(x, approximate='tanh')" }
*/

// The tanh form of GELU, as in GPT-2.
__global__ void gelu_forward(const float* x, float* y, int n) {
  int idx = threadIdx.x + blockIdx.x * blockDim.x;
  if (idx >= n) return;

  float v = x[idx];
  float cube = 0.044715f * v * v * v;
  y[idx] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + cube)));
}
