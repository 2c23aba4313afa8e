/* hone
{ "name": "nesterov_vec4_step",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1024}, {"N": 64}],
  "buffers": [
    {"name": "w", "type": "f32", "shape": ["N"], "role": "inout"},
    {"name": "g", "type": "f32", "shape": ["N"]},
    {"name": "u", "type": "f32", "shape": ["N"], "role": "inout"} ],
  "launches": [
    {"kernel": "sgd", "grid": ["ceildiv(N,1024)"], "block": [256], "args": ["w", "g", "u", 0.01, 0.9, "N/4"]} ] }
*/
// lift: yes

__global__ void sgd(float4* w, const float4* g, float4* u, float lr, float mu, int n4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n4) return;
  float4 a = w[i], b = g[i], c = u[i];
  c.x = mu * c.x + b.x; c.y = mu * c.y + b.y; c.z = mu * c.z + b.z; c.w = mu * c.w + b.w;
  a.x -= lr * (b.x + mu * c.x); a.y -= lr * (b.y + mu * c.y);
  a.z -= lr * (b.z + mu * c.z); a.w -= lr * (b.w + mu * c.w);
  w[i] = a;
  u[i] = c;
}
