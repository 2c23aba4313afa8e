/* hone
{ "name": "functor_template",
  "sizes": {"N": 4194304},
  "check_sizes": [{"N": 1000},
                  {"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "z", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "combine<AddSquares, 4>", "grid": ["ceildiv(N,256)"], "block": [64],
     "args": ["x", "z", "y", "N"]} ] }
*/
// lift: yes

struct AddSquares {
  __device__ static float apply(float a, float b) { return a * a + b * b; }
};

// A functor and a number of items per thread as template parameters.
template <class Op, int ITEMS>
__global__ void combine(const float* a, const float* b, float* c, int n) {
  int first = (blockIdx.x * blockDim.x + threadIdx.x) * ITEMS;
#pragma unroll
  for (int j = 0; j < ITEMS; ++j) {
    int at = first + j;
    if (at < n) c[at] = Op::apply(a[at], b[at]);
  }
}
