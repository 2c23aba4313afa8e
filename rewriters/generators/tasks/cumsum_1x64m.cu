/* hone
{ "name": "cumsum_1x64m",
  "sizes": {"N": 67108864},
  "check_sizes": [{"N": 16384}, {"N": 6001}, {"N": 2049}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"], "fill": {"integers": [-4, 4]}},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "cumsum", "grid": [1], "block": [32], "args": ["x", "y", "N"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-2},
  "math": "reassociate",
  "flops": "N",
  "torch": "torch.cumsum(x, dim=0)" }
*/

__global__ void cumsum(const float* x, float* y, int n) {
  if (threadIdx.x > 0) return;
  float sum = 0.0f;
  for (int i = 0; i < n; i++) {
    sum += x[i];
    y[i] = sum;
  }
}
