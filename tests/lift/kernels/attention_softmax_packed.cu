/* hone
{ "name": "attention_softmax_packed",
  "sizes": {"B": 2, "T": 128, "C": 256, "NH": 4},
  "check_sizes": [{"B": 2, "T": 13, "C": 24, "NH": 3}],
  "buffers": [
    {"name": "inp", "type": "f32", "shape": ["B", "T", "3*C"]},
    {"name": "preatt", "type": "f32", "shape": ["B", "NH", "T", "T"], "role": "out"} ],
  "launches": [
    {"kernel": "query_key", "grid": ["ceildiv(B*NH*T*T,256)"], "block": [256], "args": ["preatt", "inp", "B", "T", "C", "NH"]} ] }
*/
// lift: yes

__global__ void query_key(float* preatt, const float* inp, int B, int T, int C, int NH) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  int total_threads = B * NH * T * T;
  if (idx < total_threads) {
    int t2 = idx % T;
    int t = (idx / T) % T;
    if (t2 > t) {
      preatt[idx] = -INFINITY;
      return;
    }
    int h = (idx / (T * T)) % NH;
    int b = idx / (NH * T * T);
    int C3 = C * 3;
    int hs = C / NH;
    const float* query_t = inp + b * T * C3 + t * C3 + h * hs;
    const float* key_t2 = inp + b * T * C3 + t2 * C3 + h * hs + C;
    float val = 0.0f;
    for (int i = 0; i < hs; i++) val += query_t[i] * key_t2[i];
    val *= 1.0 / sqrtf(hs);
    preatt[idx] = val;
  }
}
