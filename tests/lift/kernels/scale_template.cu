/* hone
{ "name": "scale_template",
  "sizes": {"N": 4194304},
  "check_sizes": [{"N": 1000},
                  {"N": 77}],
  "buffers": [
    {"name": "u", "type": "f64", "shape": ["N"]},
    {"name": "v", "type": "f64", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "scale<double>", "grid": ["ceildiv(N,128)"], "block": [128],
     "args": ["u", "v", 0.3, "N"]} ] }
*/
// lift: yes

template <typename T>
__global__ void scale(const T* a, T* b, T factor, int n) {
  const int tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid >= n) return;
  b[tid] = a[tid] * factor;
}
