// Pairs of kernels: `_race` has a race between blocks on global memory, `_clean` has none.
// Launched as 8 blocks of 64 threads: a holds 4096 numbers, b is unwritten, s holds zeros.
#define PAIR(name)                                                                             \
  extern "C" __global__ void name##_race(int* a, int* b, unsigned* s) { name<true>(a, b, s); } \
  extern "C" __global__ void name##_clean(int* a, int* b, unsigned* s) { name<false>(a, b, s); }

__device__ int id() { return blockIdx.x * blockDim.x + threadIdx.x; }

// A tile and one element of the next.
template <bool race>
__device__ void overlap(int* a, int* b, unsigned*) {
  b[id()] = a[id()] + blockIdx.x;
  if (race && threadIdx.x == 0) b[id() + blockDim.x] = -1 - int(blockIdx.x);
}
PAIR(overlap)

// A stencil in place, and from one buffer to another.
template <bool race>
__device__ void stencil(int* a, int* b, unsigned*) {
  const int x = a[id()] + a[id() + 1];
  (race ? a : b)[id()] = x;
}
PAIR(stencil)

template <bool race>
__device__ void sum(int* a, int*, unsigned* s) {
  if (threadIdx.x != 0) return;
  if (race)
    s[0] += a[id()];
  else
    atomicAdd(s, a[id()]);
}
PAIR(sum)

// The last block to finish adds up what the others wrote.
template <bool fence, bool barrier, bool block_fence>
__device__ void last_block(int* a, int* b, unsigned* s) {
  __shared__ bool last;
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) b[blockIdx.x * 2 + warp] = a[id()];
  if (barrier) __syncthreads();
  if (threadIdx.x == 0) {
    if (fence) __threadfence();
    if (block_fence) __threadfence_block();
    last = atomicInc(s, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int sum = 0;
    for (int k = 0; k < 2 * gridDim.x; ++k) sum += b[k];
    b[100] = sum;
  }
}
template <bool race>
__device__ void last_block_fence(int* a, int* b, unsigned* s) {
  last_block<!race, true, false>(a, b, s);
}
PAIR(last_block_fence)
template <bool race>
__device__ void last_block_barrier(int* a, int* b, unsigned* s) {
  last_block<true, !race, false>(a, b, s);
}
PAIR(last_block_barrier)
template <bool race>
__device__ void last_block_scope(int* a, int* b, unsigned* s) {
  last_block<!race, true, race>(a, b, s);
}
PAIR(last_block_scope)

// All threads fence, one tells: also right.
template <bool race>
__device__ void last_block_all_fence(int* a, int* b, unsigned* s) {
  __shared__ bool last;
  b[id()] = a[id()];
  if (!race) __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(s, 1) == gridDim.x - 1;
  __syncthreads();
  if (last) {
    int sum = 0;
    for (int k = 0; k < gridDim.x; ++k) sum += b[k * blockDim.x + threadIdx.x];
    a[threadIdx.x] = sum;
  }
}
PAIR(last_block_all_fence)

// Each block waits for the one before it and adds to what that published.
template <bool race>
__device__ void look_back(int* a, int* b, unsigned* s) {
  if (threadIdx.x != 0) return;
  int before = 0;
  if (blockIdx.x > 0) {
    while (*(volatile unsigned*)&s[blockIdx.x - 1] == 0) {
    }
    __threadfence();
    before = b[blockIdx.x - 1];
  }
  if (race) *(volatile unsigned*)&s[blockIdx.x] = 1;  // before the value is there
  b[blockIdx.x] = before + a[id()];
  __threadfence();
  if (!race) *(volatile unsigned*)&s[blockIdx.x] = 1;
}
PAIR(look_back)

// Waits for the wrong flag.
template <bool race>
__device__ void wrong_flag(int* a, int* b, unsigned* s) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x < 2) {
    b[blockIdx.x] = a[id()];
    __threadfence();
    atomicExch(&s[blockIdx.x], 1);
  } else if (blockIdx.x == 2) {
    while (atomicAdd(&s[race ? 1 : 0], 0) == 0) {
    }
    __threadfence();
    b[2] = b[0];
  }
}
PAIR(wrong_flag)

// A plain store as a flag.
template <bool race>
__device__ void flag(int* a, int* b, unsigned* s) {
  if (threadIdx.x != 0 || blockIdx.x > 1) return;
  if (blockIdx.x == 0) {
    b[0] = a[0];
    __threadfence();
    if (race)
      s[0] = 1;
    else
      *(volatile unsigned*)s = 1;
  } else {
    while (*(volatile unsigned*)s == 0) {
    }
    __threadfence();
    b[1] = b[0];
  }
}
PAIR(flag)

// Release and acquire without fences of their own; relaxed is not enough.
template <bool race>
__device__ void release(int* a, int* b, unsigned* s) {
  if (threadIdx.x != 0 || blockIdx.x > 1) return;
  if (blockIdx.x == 0) {
    b[0] = a[0];
    if (race)
      asm volatile("st.relaxed.gpu.u32 [%0], 1;" ::"l"(s) : "memory");
    else
      asm volatile("st.release.gpu.u32 [%0], 1;" ::"l"(s) : "memory");
  } else {
    unsigned v = 0;
    while (v == 0) asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(s) : "memory");
    b[1] = b[0];
  }
}
PAIR(release)

// Two phases, with and without all blocks meeting between them.
template <bool race>
__device__ void phases(int* a, int* b, unsigned* s) {
  b[id()] = a[id()];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(s, 1);
    if (!race)
      while (*(volatile unsigned*)s < gridDim.x) {
      }
    __threadfence();
  }
  __syncthreads();
  const int n = gridDim.x * blockDim.x;
  const int x = b[(id() + blockDim.x) % n];
  a[id()] = x;
}
PAIR(phases)

// The critical section, and a step outside of it.
template <bool race>
__device__ void lock(int* a, int*, unsigned* s) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(s, 0, 1) != 0) {
  }
  __threadfence();
  if (!race) a[0] += blockIdx.x + 1;
  __threadfence();
  atomicExch(s, 0);
  if (race) a[0] += blockIdx.x + 1;
}
PAIR(lock)

// Bytes side by side, and the same byte.
template <bool race>
__device__ void bytes(int* a, int*, unsigned*) {
  auto* c = reinterpret_cast<unsigned char*>(a);
  const int at = threadIdx.x * 8 + blockIdx.x;
  c[race ? at / 2 : at] = static_cast<unsigned char>(blockIdx.x + 1);
}
PAIR(bytes)

// Many blocks write the same, or not.
template <bool race>
__device__ void same_value(int*, int* b, unsigned* s) {
  if (threadIdx.x == 0) b[0] = race ? blockIdx.x : 7;
  if (threadIdx.x == 1) s[0] = race ? 1 + blockIdx.x : 1;
}
PAIR(same_value)

// Block 0 reads what block 1 writes later.
template <bool race>
__device__ void write_after_read(int* a, int* b, unsigned*) {
  if (blockIdx.x == 0) b[threadIdx.x] = a[64 + threadIdx.x];
  if (blockIdx.x == 1) a[(race ? 64 : 128) + threadIdx.x] = -1;
}
PAIR(write_after_read)

// Reading by all, then a meeting, then writing.
template <bool race>
__device__ void write_after_many_reads(int* a, int* b, unsigned* s) {
  b[id()] = a[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(s, 1);
    if (blockIdx.x == 3 && !race)
      while (atomicAdd(s, 0) < gridDim.x) {
      }
  }
  __syncthreads();
  if (blockIdx.x == 3) a[threadIdx.x] = -5;
}
PAIR(write_after_many_reads)

// An atomic and a plain write.
template <bool race>
__device__ void atomic_and_plain(int* a, int*, unsigned* s) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 5 && race)
    s[0] = 1000;
  else
    atomicMax(s, a[id()]);
}
PAIR(atomic_and_plain)

// Tickets, then arrivals in the opposite order, of which the last sets the tickets back. No fence:
// who has a ticket's number, whose atomic is done; one that asks for no number may be under way.
template <bool race>
__device__ void tickets(int*, int* b, unsigned* s) {
  if (threadIdx.x != 0) return;
  unsigned ticket = blockIdx.x;
  if (race) {
    while (blockIdx.x != 0 && atomicAdd(&s[2], 0) == 0) {
    }
    atomicAdd(&s[0], 1);
    if (blockIdx.x == 0) atomicExch(&s[2], 1);
  } else {
    ticket = atomicAdd(&s[0], 1);
  }
  while (atomicAdd(&s[1], 0) != gridDim.x - 1 - ticket) {
  }
  if (atomicAdd(&s[1], 1) == gridDim.x - 1) s[0] = 0;
}
PAIR(tickets)
