/* hone
{ "name": "float3_cross",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 250},
                  {"N": 64}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N", 3]},
    {"name": "y", "type": "f32", "shape": ["N", 3]},
    {"name": "z", "type": "f32", "shape": ["N", 3], "role": "out"} ],
  "launches": [
    {"kernel": "cross_products", "grid": ["ceildiv(N,64)"], "block": [64],
     "args": ["x", "y", "z", "N"]} ] }
*/
// lift: yes

__device__ float3 cross(float3 a, float3 b) {
  return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

__global__ void cross_products(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float3 u = make_float3(a[3 * i], a[3 * i + 1], a[3 * i + 2]);
  float3 v = {b[3 * i], b[3 * i + 1], b[3 * i + 2]};
  float3 w = cross(u, v);
  c[3 * i] = w.x;
  c[3 * i + 1] = w.y;
  c[3 * i + 2] = w.z;
}
