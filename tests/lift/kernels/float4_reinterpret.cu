/* hone
{ "name": "float4_reinterpret",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 250},
                  {"N": 64}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["4*N"]},
    {"name": "y", "type": "f32", "shape": ["4*N"]},
    {"name": "z", "type": "f32", "shape": ["4*N"], "role": "out"} ],
  "launches": [
    {"kernel": "add4", "grid": ["ceildiv(N,64)"], "block": [64],
     "args": ["x", "y", "z", "N"]} ] }
*/
// lift: yes

__global__ void add4(const float* x, const float* y, float* z, int quads) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < quads) {
    float4 a = reinterpret_cast<const float4*>(x)[i];
    float4 b = __ldg(&((const float4*)y)[i]);
    float4 c;
    c.x = a.x + b.x;
    c.y = a.y + b.y;
    c.z = a.z + b.z;
    c.w = a.w + b.w;
    reinterpret_cast<float4*>(z)[i] = c;
  }
}
