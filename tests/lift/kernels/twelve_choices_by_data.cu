/* hone
{ "name": "twelve_choices_by_data",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1000}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "t0", "type": "f32", "shape": ["N"], "role": "scratch"},
    {"name": "t1", "type": "f32", "shape": ["N"], "role": "scratch"},
    {"name": "t2", "type": "f32", "shape": ["N"], "role": "scratch"},
    {"name": "t3", "type": "f32", "shape": ["N"], "role": "scratch"},
    {"name": "t4", "type": "f32", "shape": ["N"], "role": "scratch"},
    {"name": "t5", "type": "f32", "shape": ["N"], "role": "scratch"},
    {"name": "t6", "type": "f32", "shape": ["N"], "role": "scratch"},
    {"name": "t7", "type": "f32", "shape": ["N"], "role": "scratch"},
    {"name": "t8", "type": "f32", "shape": ["N"], "role": "scratch"},
    {"name": "t9", "type": "f32", "shape": ["N"], "role": "scratch"},
    {"name": "t10", "type": "f32", "shape": ["N"], "role": "scratch"},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "leaky", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "t0", "N"]},
    {"kernel": "leaky", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["t0", "t1", "N"]},
    {"kernel": "leaky", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["t1", "t2", "N"]},
    {"kernel": "leaky", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["t2", "t3", "N"]},
    {"kernel": "leaky", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["t3", "t4", "N"]},
    {"kernel": "leaky", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["t4", "t5", "N"]},
    {"kernel": "leaky", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["t5", "t6", "N"]},
    {"kernel": "leaky", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["t6", "t7", "N"]},
    {"kernel": "leaky", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["t7", "t8", "N"]},
    {"kernel": "leaky", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["t8", "t9", "N"]},
    {"kernel": "leaky", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["t9", "t10", "N"]},
    {"kernel": "leaky", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["t10", "y", "N"]} ] }
*/
// lift: yes

// Many choices, one within the other, by what is loaded: all of them are one site.
__global__ void leaky(const float* x, float* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] > 1.f ? 3.f * x[i] : 0.01f * x[i];
}
