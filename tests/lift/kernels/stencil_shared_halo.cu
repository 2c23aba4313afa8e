/* hone
{ "name": "stencil_shared_halo",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 64},
                  {"N": 192}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N+6"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "stencil", "grid": ["N/64"], "block": [64],
     "args": ["x", "y"]} ] }
*/
// lift: yes

#define RADIUS 3
#define BLOCK 64

__global__ void stencil(const float* in, float* out) {
  __shared__ float temp[BLOCK + 2 * RADIUS];
  int g = threadIdx.x + blockIdx.x * blockDim.x + RADIUS;
  int l = threadIdx.x + RADIUS;
  temp[l] = in[g];
  if (threadIdx.x < RADIUS) {
    temp[l - RADIUS] = in[g - RADIUS];
    temp[l + BLOCK] = in[g + BLOCK];
  }
  __syncthreads();
  float result = 0;
  for (int offset = -RADIUS; offset <= RADIUS; offset++) result += temp[l + offset];
  out[g - RADIUS] = result;
}
