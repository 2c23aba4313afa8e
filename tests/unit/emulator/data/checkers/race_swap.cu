/* check {"cases": [
  {"name": "GlobalMaximumClean", "kernel": "maximum", "grid": [3], "block": [64],
   "args": [{"in": "x", "type": "f32", "count": 192}, {"in": "best", "type": "f32", "count": 4, "value": 0}], "verdict": "ok"},
  {"name": "EarlyEndClean", "kernel": "maximum_early", "grid": [3], "block": [64],
   "args": [{"in": "x", "count": 192}, {"in": "best", "count": 4, "value": 0}, {"out": "y", "bytes": 768}], "verdict": "ok"},
  {"name": "SharedProductClean", "kernel": "product", "block": [96],
   "args": [{"in": "x", "type": "f32", "count": 96, "value": 1}, {"out": "y", "bytes": 4}], "verdict": "ok"},
  {"name": "HalfOfAWordClean", "kernel": "halves", "grid": [2], "block": [64],
   "args": [{"in": "x", "count": 128}, {"in": "sums", "count": 4, "value": 0}], "verdict": "ok"},
  {"name": "AgainstAPlainStore", "kernel": "reset_late", "block": [96],
   "args": [{"in": "x", "type": "f32", "count": 96, "value": 1}, {"out": "y", "bytes": 4}],
   "verdict": "race", "kind": "race", "words": ["race: write of shared reset_late::p", "without a barrier after a"],
   "line": "p = 1;", "thread": [64, 0, 0]},
  {"name": "AgainstAPlainStoreOfAnotherBlock", "kernel": "reset_by_last", "grid": [3], "block": [32],
   "args": [{"in": "x", "count": 96}, {"in": "best", "count": 1, "value": 0}],
   "verdict": "race", "kind": "race", "words": ["race between blocks: write of best+0"],
   "line": "*best = -1;", "in_block": [2, 0, 0], "thread": [0, 0, 0], "other_line": "atomicCAS(best"},
  {"name": "GuessIsKept", "kernel": "ticket", "block": [64], "args": [{"out": "y", "bytes": 256}],
   "verdict": "race", "kind": "race", "words": ["race: read of shared ticket::next", "after a write by several threads of warp 0"],
   "line": "int seen = next;", "thread": [32, 0, 0], "other_line": "atomicCAS(&next"},
  {"name": "GuessIsKeptClean", "kernel": "ticket_clean", "block": [64], "args": [{"out": "y", "bytes": 256}],
   "verdict": "ok"},
  {"name": "AnotherPlace", "kernel": "another_place", "block": [64], "args": [{"out": "y", "bytes": 4}],
   "verdict": "race", "kind": "race", "words": ["race:", "shared another_place::n"],
   "line": "int seen = n;", "thread": [32, 0, 0], "other_line": "atomicAdd(&n, 1)"},
  {"name": "AtomicAfterRead", "kernel": "late_count", "block": [64], "args": [{"in": "x", "count": 64}, {"out": "y", "bytes": 128}],
   "verdict": "race", "kind": "race",
   "words": ["race: atomic of shared late_count::n", "after a read by several threads of warp 0"],
   "line": "atomicAdd(&n, x[threadIdx.x])", "thread": [32, 0, 0], "other_line": "y[threadIdx.x] = n"},
  {"name": "AtomicAfterReadClean", "kernel": "late_count_clean", "block": [64], "args": [{"in": "x", "count": 64}, {"out": "y", "bytes": 128}],
   "verdict": "ok"},
  {"name": "AtomicAfterAtomicAndRead", "kernel": "count_and_look", "block": [64], "args": [{"out": "y", "bytes": 4}],
   "verdict": "race", "kind": "race",
   "words": ["race: atomic of shared count_and_look::n", "after a read by thread (0,0,0)"],
   "line": "atomicAdd(&n, 2)", "thread": [32, 0, 0], "other_line": "*y = n"},
  {"name": "OneWritesForItsWarp", "kernel": "first_tells", "args": [{"out": "y", "bytes": 128}],
   "verdict": "race", "kind": "race", "words": ["race: read of shared first_tells::s", "after a write by thread (0,0,0)"],
   "line": "y[threadIdx.x] = s", "thread": [1, 0, 0], "other_line": "s[threadIdx.x] ="},
  {"name": "OneWritesForItsWarpClean", "kernel": "first_tells_clean", "args": [{"out": "y", "bytes": 128}],
   "verdict": "ok"}
]} */
__device__ void raise(float* place, float value) {
  int* word = (int*)place;
  int found = *word;
  int guess;
  do {
    guess = found;
    found = atomicCAS(word, guess, __float_as_int(fmaxf(value, __int_as_float(guess))));
  } while (found != guess);
}
extern "C" __global__ void maximum(const float* x, float* best) {
  raise(best + threadIdx.x % 4, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
extern "C" __global__ void maximum_early(const int* x, int* best, int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int* place = best + threadIdx.x % 4;
  int found = *place;
  while (found < x[i]) {
    const int guess = found;
    found = atomicCAS(place, guess, x[i]);
    if (found == guess) break;
  }
  y[i] = i;
}
__device__ void multiply(float* place, float factor) {
  int* word = (int*)place;
  int guess = *word;
  while (true) {
    const int found = atomicCAS(word, guess, __float_as_int(factor * __int_as_float(guess)));
    if (found == guess) break;
    guess = found;
  }
}
extern "C" __global__ void product(const float* x, float* y) {
  __shared__ float p;
  if (threadIdx.x == 0) p = 1;
  __syncthreads();
  multiply(&p, x[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) *y = p;
}
extern "C" __global__ void halves(const int* x, unsigned* sums) {
  unsigned short* place = (unsigned short*)sums + threadIdx.x % 8;
  unsigned* word = (unsigned*)((size_t)place & ~size_t(2));
  const int shift = ((size_t)place & 2) * 8;
  unsigned found = *word;
  unsigned guess;
  do {
    guess = found;
    const unsigned sum = ((guess >> shift) + x[blockIdx.x * blockDim.x + threadIdx.x]) & 0xffff;
    found = atomicCAS(word, guess, (guess & ~(0xffffu << shift)) | sum << shift);
  } while (found != guess);
}
extern "C" __global__ void reset_late(const float* x, float* y) {
  __shared__ float p;
  if (threadIdx.x == 0) p = 2;
  __syncthreads();
  if (threadIdx.x < 64) multiply(&p, x[threadIdx.x] + 1);
  if (threadIdx.x == 64) p = 1;
  __syncthreads();
  if (threadIdx.x == 0) *y = p;
}
extern "C" __global__ void reset_by_last(const int* x, int* best) {
  if (blockIdx.x == gridDim.x - 1) {
    if (threadIdx.x == 0) *best = -1;
    return;
  }
  int found = *best;
  int guess;
  do {
    guess = found;
    found = atomicCAS(best, guess, guess + x[threadIdx.x]);
  } while (found != guess);
}
extern "C" __global__ void ticket(int* y) {
  __shared__ int next;
  if (threadIdx.x == 0) next = 0;
  __syncthreads();
  int seen = next;
  y[threadIdx.x] = seen;
  while (true) {
    const int found = atomicCAS(&next, seen, seen + 1);
    if (found == seen) break;
    seen = found;
  }
}
extern "C" __global__ void ticket_clean(int* y) {
  __shared__ int next;
  if (threadIdx.x == 0) next = 0;
  __syncthreads();
  int seen = next;
  while (true) {
    const int found = atomicCAS(&next, seen, seen + 1);
    if (found == seen) break;
    seen = found;
  }
  y[threadIdx.x] = seen;
}
extern "C" __global__ void another_place(int* y) {
  __shared__ int n, m;
  if (threadIdx.x == 0) n = m = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    atomicAdd(&n, 1);
  } else {
    int seen = n;
    atomicCAS(&m, seen, 7);
  }
  __syncthreads();
  if (threadIdx.x == 0) *y = n + m;
}
extern "C" __global__ void late_count(const int* x, int* y) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  if (threadIdx.x < 32)
    y[threadIdx.x] = n;
  else
    atomicAdd(&n, x[threadIdx.x]);
}
extern "C" __global__ void late_count_clean(const int* x, int* y) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  if (threadIdx.x < 32) y[threadIdx.x] = n;
  __syncthreads();
  if (threadIdx.x >= 32) atomicAdd(&n, x[threadIdx.x]);
}
extern "C" __global__ void count_and_look(int* y) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&n, 1);
    *y = n;
  } else if (threadIdx.x == 32) {
    atomicAdd(&n, 2);
  }
}
extern "C" __global__ void first_tells(int* y) {
  __shared__ int s[32];
  s[threadIdx.x] = threadIdx.x + 5;
  y[threadIdx.x] = s[0];
}
extern "C" __global__ void first_tells_clean(int* y) {
  __shared__ int s[32];
  s[threadIdx.x] = threadIdx.x + 5;
  __syncwarp();
  y[threadIdx.x] = s[0];
}
