/* hone
{ "name": "swish_while_stride",
  "sizes": {"N": 4194304},
  "check_sizes": [{"N": 1000},
                  {"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "swish", "grid": [2], "block": [96],
     "args": ["y", "x", "N"]} ] }
*/
// lift: yes

__device__ __forceinline__ float sigmoidf(float v) { return 1.0f / (1.0f + __expf(-v)); }

// The same with a while loop and size_t.
extern "C" __global__ void swish(float* out, const float* in, size_t count) {
  size_t at = threadIdx.x + (size_t)blockIdx.x * blockDim.x;
  const size_t stride = (size_t)gridDim.x * blockDim.x;
  while (at < count) {
    const float v = in[at];
    out[at] = v * sigmoidf(v);
    at += stride;
  }
}
