/* hone
{ "name": "rmsprop_struct_state",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1000}, {"N": 77}],
  "buffers": [
    {"name": "w", "type": "f32", "shape": ["N"], "role": "inout"},
    {"name": "g", "type": "f32", "shape": ["N"]},
    {"name": "s", "type": "f32", "shape": ["N"], "role": "inout", "fill": {"uniform": [0, 1]}} ],
  "launches": [
    {"kernel": "rms", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["w", "g", "s", "N"]} ] }
*/
// lift: yes

struct State { float square; float step; };
__device__ State advance(float g, float s) {
  State next;
  next.square = 0.99f * s + 0.01f * g * g;
  next.step = g * rsqrtf(next.square + 1e-6f);
  return next;
}
__global__ void rms(float* w, const float* g, float* s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    State next = advance(g[i], s[i]);
    s[i] = next.square;
    w[i] = w[i] - 0.001f * next.step;
  }
}
