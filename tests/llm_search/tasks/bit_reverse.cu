/* hone
{
 "name": "bit_reverse",
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
   "kernel": "bit_reverse",
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

__global__ void bit_reverse(const int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = (unsigned)x[i], r = 0;
  for (int bit = 0; bit < 32; bit++) {
    r = (r << 1) | (v & 1u);
    v >>= 1;
  }
  y[i] = (int)r;
}
