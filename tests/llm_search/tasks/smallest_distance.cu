/* hone
{
 "name": "smallest_distance",
 "sizes": {
  "N": 2097152,
  "M": 64
 },
 "check_sizes": [
  {
   "N": 1000,
   "M": 64
  },
  {
   "N": 257,
   "M": 31
  }
 ],
 "buffers": [
  {
   "name": "x",
   "type": "f32",
   "shape": [
    "2*N"
   ],
   "fill": {
    "uniform": [
     -1,
     1
    ]
   }
  },
  {
   "name": "p",
   "type": "f32",
   "shape": [
    "2*M"
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
   "kernel": "smallest_distance",
   "grid": [
    "ceildiv(N,32)"
   ],
   "block": [
    32
   ],
   "args": [
    "x",
    "p",
    "y",
    "N",
    "M"
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

__global__ void smallest_distance(const float* x, const float* p, float* y, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = 1e30f;
  for (int k = 0; k < m; k++) {
    float a = x[i] - p[2 * k], b = x[n + i] - p[2 * k + 1];
    best = fminf(best, sqrtf(a * a + b * b));
  }
  y[i] = best;
}
