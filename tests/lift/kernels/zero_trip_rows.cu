/* hone
{ "name": "zero_trip_rows",
  "sizes": {"N": 512},
  "check_sizes": [{"N": 45},
                  {"N": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N", "N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"},
    {"name": "z", "type": "f32", "shape": ["N"], "role": "inout"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["x", "y", "z", "N"]} ] }
*/
// lift: yes

// Row 0 has nothing to add up: y starts from 7, z is not touched.
__global__ void k(const float* x, float* y, float* z, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  float sum = 7;
  int c;
  for (c = 0; c < r; ++c) {
    sum += x[r * n + c];
    z[r] += x[r * n + c];
  }
  y[r] = sum + c;
}
