/* hone
{ "name": "attention_f32",
  "sizes": {"HEADS": 32, "SEQ": 2048, "DIM": 64},
  "check_sizes": [{"HEADS": 2, "SEQ": 64, "DIM": 32}, {"HEADS": 3, "SEQ": 40, "DIM": 16},
                  {"HEADS": 2, "SEQ": 29, "DIM": 11}],
  "buffers": [
    {"name": "Q", "type": "f32", "shape": ["HEADS", "SEQ", "DIM"], "fill": {"normal": [0, 1]}},
    {"name": "K", "type": "f32", "shape": ["HEADS", "SEQ", "DIM"], "fill": {"normal": [0, 1]}},
    {"name": "V", "type": "f32", "shape": ["HEADS", "SEQ", "DIM"], "fill": {"normal": [0, 1]}},
    {"name": "S", "type": "f32", "shape": ["HEADS", "SEQ", "SEQ"], "role": "scratch"},
    {"name": "O", "type": "f32", "shape": ["HEADS", "SEQ", "DIM"], "role": "out"} ],
  "launches": [
    {"kernel": "attention_scores", "grid": ["ceildiv(SEQ,16)", "ceildiv(SEQ,16)", "HEADS"], "block": [16, 16], "args": ["Q", "K", "S", "SEQ", "DIM"]},
    {"kernel": "attention_softmax", "grid": ["ceildiv(HEADS*SEQ,128)"], "block": [128], "args": ["S", "HEADS*SEQ", "SEQ"]},
    {"kernel": "attention_values", "grid": ["ceildiv(DIM,16)", "ceildiv(SEQ,16)", "HEADS"], "block": [16, 16], "args": ["S", "V", "O", "SEQ", "DIM"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5},
  "math": "tf32x3",
  "flops": "4*HEADS*SEQ*SEQ*DIM",
  "torch": "torch.nn.functional.scaled_dot_product_attention(Q[None], K[None], V[None])[0]" }
*/

// S = Q K^T / sqrt(dim), one thread per score.
__global__ void attention_scores(const float* Q, const float* K, float* S, int seq, int dim) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int head = blockIdx.z;
  if (row >= seq || col >= seq) return;
  float score = 0.0f;
  for (int d = 0; d < dim; d++) {
    score += Q[(head * seq + row) * dim + d] * K[(head * seq + col) * dim + d];
  }
  S[(head * seq + row) * seq + col] = score / sqrtf((float)dim);
}

// Softmax of every row of S, in place, one thread per row.
__global__ void attention_softmax(float* S, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float* s = S + row * cols;
  float largest = -INFINITY;
  for (int j = 0; j < cols; j++) largest = fmaxf(largest, s[j]);
  float sum = 0.0f;
  for (int j = 0; j < cols; j++) sum += expf(s[j] - largest);
  for (int j = 0; j < cols; j++) s[j] = expf(s[j] - largest) / sum;
}

// O = S V, one thread per output element.
__global__ void attention_values(const float* S, const float* V, float* O, int seq, int dim) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int head = blockIdx.z;
  if (row >= seq || d >= dim) return;
  float out = 0.0f;
  for (int j = 0; j < seq; j++) {
    out += S[(head * seq + row) * seq + j] * V[(head * seq + j) * dim + d];
  }
  O[(head * seq + row) * dim + d] = out;
}
