/* hone
{ "name": "scale_template_twice",
  "sizes": {"N": 4194304},
  "check_sizes": [{"N": 1000},
                  {"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"},
    {"name": "u", "type": "f64", "shape": ["N"]},
    {"name": "v", "type": "f64", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "scale<float>", "grid": ["ceildiv(N,128)"], "block": [128],
     "args": ["x", "y", 3.5, "N"]},
    {"kernel": "scale<double>", "grid": ["ceildiv(N,128)"], "block": [128],
     "args": ["u", "v", 0.3, "N"]} ],
  "tolerance": {"rtol": 0.0001, "atol": 1e-05} }
*/
// lift: no: a template that is launched in several ways

template <typename T>
__global__ void scale(const T* a, T* b, T factor, int n) {
  const int tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid >= n) return;
  b[tid] = a[tid] * factor;
}
