/* hone
{ "name": "layernorm",
  "sizes": {"TOKENS": 16384, "HIDDEN": 1024},
  "check_sizes": [{"TOKENS": 64, "HIDDEN": 128}, {"TOKENS": 48, "HIDDEN": 72},
                  {"TOKENS": 37, "HIDDEN": 101}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["TOKENS", "HIDDEN"], "fill": {"normal": [0.5, 2]}},
    {"name": "gamma", "type": "f32", "shape": ["HIDDEN"], "fill": {"uniform": [0.5, 1.5]}},
    {"name": "beta", "type": "f32", "shape": ["HIDDEN"], "fill": {"uniform": [-1, 1]}},
    {"name": "y", "type": "f32", "shape": ["TOKENS", "HIDDEN"], "role": "out"} ],
  "launches": [
    {"kernel": "layernorm", "grid": ["ceildiv(TOKENS,64)"], "block": [64],
     "args": ["x", "gamma", "beta", "y", "TOKENS", "HIDDEN", 1e-5]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5},
  "math": "reassociate",
  "flops": "8*TOKENS*HIDDEN",
  "torch": "torch.nn.functional.layer_norm(x, (x.shape[1],), gamma, beta, 1e-5)" }
*/

__global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y,
                          int tokens, int hidden, float eps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < tokens) {
    const float* row = x + t * hidden;
    float* out = y + t * hidden;

    float mean = 0.0f;
    for (int i = 0; i < hidden; i++) {
      mean += row[i];
    }
    mean = mean / hidden;

    float var = 0.0f;
    for (int i = 0; i < hidden; i++) {
      float d = row[i] - mean;
      var += d * d;
    }
    var = var / hidden;

    float scale = 1.0f / sqrtf(var + eps);
    for (int i = 0; i < hidden; i++) {
      out[i] = (row[i] - mean) * scale * gamma[i] + beta[i];
    }
  }
}
