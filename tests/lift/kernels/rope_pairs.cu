/* hone
{ "name": "rope_pairs",
  "sizes": {"T": 128, "D": 64},
  "check_sizes": [{"T": 21, "D": 8}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["T", "D"], "role": "inout"},
    {"name": "angle", "type": "f32", "shape": ["T", "D/2"]} ],
  "launches": [
    {"kernel": "rope", "grid": ["ceildiv(T*D/2,64)"], "block": [64],
     "args": ["x", "angle", "T", "D/2"]} ] }
*/
// lift: yes

// In place: each thread rotates its own pair.
__global__ void rope(float* x, const float* angle, int T, int half) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= T * half) return;
  float s = sinf(angle[i]), c = cosf(angle[i]);
  float a = x[2 * i], b = x[2 * i + 1];
  x[2 * i] = a * c - b * s;
  x[2 * i + 1] = a * s + b * c;
}
