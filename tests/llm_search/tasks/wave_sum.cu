/* hone
{
 "name": "wave_sum",
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
   "kernel": "wave_sum",
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
  "rtol": 0.001,
  "atol": 0.001
 },
 "math": "reassociate"
}
*/

__global__ void wave_sum(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int k = 1; k <= 16; k++) sum += cosf(k * x[i]);
  y[i] = sum;
}
