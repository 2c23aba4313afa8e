/* hone
{ "name": "adamw_step_lerp",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1000}, {"N": 77}],
  "buffers": [
    {"name": "p", "type": "f32", "shape": ["N"], "role": "inout"},
    {"name": "g", "type": "f32", "shape": ["N"]},
    {"name": "m", "type": "f32", "shape": ["N"], "role": "inout"},
    {"name": "v", "type": "f32", "shape": ["N"], "role": "inout", "fill": {"uniform": [0, 1]}} ],
  "launches": [
    {"kernel": "adam", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["p", "g", "m", "v", 0.001, 0.9, 0.999, 1e-08, 0.1, 0.002, "N"]} ] }
*/
// lift: yes

__device__ float lerp(float start, float end, float weight) { return fma(weight, end, fma(-weight, start, start)); }
__global__ void adam(float* params_memory, const float* grads_memory, float* m_memory, float* v_memory,
                     float learning_rate, float beta1, float beta2, float eps, float c1, float c2, int num) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= num) return;
  float grad = grads_memory[i];
  float m = m_memory[i];
  float v = v_memory[i];
  m = lerp(grad, m, beta1);
  m_memory[i] = m;
  v = lerp(grad * grad, v, beta2);
  v_memory[i] = v;
  m /= c1;
  v /= c2;
  params_memory[i] -= learning_rate * (m / (sqrtf(v) + eps) + 0.01f * params_memory[i]);
}
