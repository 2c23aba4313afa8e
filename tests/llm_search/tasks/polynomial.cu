/* hone
{
 "name": "polynomial",
 "sizes": {
  "N": 8388608
 },
 "check_sizes": [
  {
   "N": 1000
  },
  {
   "N": 257
  }
 ],
 "buffers": [
  {
   "name": "x",
   "type": "f32",
   "shape": [
    "N"
   ],
   "fill": {
    "uniform": [
     -1,
     1
    ]
   }
  },
  {
   "name": "y",
   "type": "f32",
   "shape": [
    "N"
   ],
   "role": "out"
  }
 ],
 "launches": [
  {
   "kernel": "polynomial",
   "grid": [
    "ceildiv(N,32)"
   ],
   "block": [
    32
   ],
   "args": [
    "x",
    "y",
    "N"
   ]
  }
 ],
 "tolerance": {
  "rtol": 0.0001,
  "atol": 1e-05
 },
 "math": "reassociate"
}
*/

__global__ void polynomial(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int k = 0; k < 12; k++) {
    float power = 1.0f;
    for (int p = 0; p < k; p++) power *= x[i];
    sum += power / (k + 1.0f);
  }
  y[i] = sum;
}
