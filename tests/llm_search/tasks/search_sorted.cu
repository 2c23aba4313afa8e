/* hone
{
 "name": "search_sorted",
 "sizes": {
  "N": 8388608,
  "M": 256
 },
 "check_sizes": [
  {
   "N": 1000,
   "M": 256
  },
  {
   "N": 257,
   "M": 256
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
     0,
     32
    ]
   }
  },
  {
   "name": "edges",
   "type": "f32",
   "shape": [
    "M"
   ],
   "fill": {
    "iota": [
     0,
     1
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
   "kernel": "search_sorted",
   "grid": [
    "ceildiv(N,32)"
   ],
   "block": [
    32
   ],
   "args": [
    "x",
    "edges",
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

__global__ void search_sorted(const float* x, const float* edges, int* y, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int place = 0;
  while (place < m && edges[place] < x[i]) place++;
  y[i] = place;
}
