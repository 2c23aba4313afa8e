/* hone
{
 "name": "digit_sum",
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
   "type": "i32",
   "shape": [
    "N"
   ],
   "fill": {
    "integers": [
     0,
     2000000000
    ]
   }
  },
  {
   "name": "y",
   "type": "i32",
   "shape": [
    "N"
   ],
   "role": "out"
  }
 ],
 "launches": [
  {
   "kernel": "digit_sum",
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

__global__ void digit_sum(const int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = x[i], sum = 0;
  for (int place = 0; place < 10; place++) {
    int digit = v;
    for (int k = 0; k < place; k++) digit /= 10;
    sum += digit % 10;
  }
  y[i] = sum;
}
