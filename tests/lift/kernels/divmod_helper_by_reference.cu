/* hone
{ "name": "divmod_helper_by_reference",
  "sizes": {"N": 64, "C": 32, "P": 196},
  "check_sizes": [{"N": 3, "C": 5, "P": 7}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N", "C", "P"]},
    {"name": "g", "type": "f32", "shape": ["C"]},
    {"name": "y", "type": "f32", "shape": ["N", "P", "C"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N*C*P,256)"], "block": [256], "args": ["x", "g", "y", "N", "C", "P"]} ] }
*/
// lift: yes

__device__ __forceinline__ void divmod(int n, int d, int& quotient, int& remainder) {
  quotient = n / d;
  remainder = n - quotient * d;
}
__global__ void k(const float* x, const float* g, float* y, int N, int C, int P) {
  for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < N * C * P; at += gridDim.x * blockDim.x) {
    int plane, p, n, c;
    divmod(at, P, plane, p);
    divmod(plane, C, n, c);
    y[(n * P + p) * C + c] = x[at] * g[c];
  }
}
