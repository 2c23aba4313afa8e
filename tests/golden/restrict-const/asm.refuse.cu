// Inline assembly may write anywhere.
/* hone
{"name": "add", "sizes": {"N": 1000000}, "check_sizes": [{"N": 1000}, {"N": 77}], "buffers": [{"name": "A", "type": "f32", "shape": ["N"]}, {"name": "B", "type": "f32", "shape": ["N"]}, {"name": "C", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "add", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["A", "B", "C", "N"]}]}
*/
__global__ void add(float* a, float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v;
  if (i < n) {
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(a + i));
    c[i] = v + b[i];
  }
}
