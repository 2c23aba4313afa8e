/* hone
{
 "name": "power_mod",
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
   "kernel": "power_mod",
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

__global__ void power_mod(const int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned base = (unsigned)x[i] % 10007u, r = 1;
  for (int k = 0; k < 100; k++) r = r * base % 10007u;
  y[i] = (int)r;
}
