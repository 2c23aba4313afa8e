// Kernels whose blocks, warps and lanes wait for each other. Compiled by regenerate.sh.
extern "C" {

// Every lane of every warp of every block takes one lock in turn.
__global__ void lock_everyone(int* lock, volatile int* count) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *count = *count + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

__device__ void grid_barrier(unsigned* arrived, unsigned blocks, unsigned round) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1);
    while (*(volatile unsigned*)arrived < blocks * round) {
    }
    __threadfence();
  }
  __syncthreads();
}

// Each block passes its neighbour's value on, `rounds` times.
__global__ void ring(int* a, int* b, unsigned* arrived, int rounds) {
  const int n = gridDim.x;
  for (int r = 0; r < rounds; ++r) {
    const int* from = r % 2 ? b : a;
    int* to = r % 2 ? a : b;
    to[blockIdx.x * blockDim.x + threadIdx.x] =
        from[(blockIdx.x + 1) % n * blockDim.x + threadIdx.x] + 1;
    grid_barrier(arrived, n, r + 1);
  }
}

// Block 0 consumes what the others produce, in order; they wait for room.
__global__ void queue(int* slots, volatile int* head, volatile int* tail, int capacity, int* out) {
  const int producers = gridDim.x - 1;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    for (int i = 0; i < 3 * producers; ++i) {
      while (*tail <= i) {
      }
      __threadfence();
      out[i] = *(volatile int*)&slots[i % capacity];
      __threadfence();
      *head = i + 1;
    }
    return;
  }
  for (int k = 0; k < 3; ++k) {
    const int mine = k * producers + blockIdx.x - 1;
    while (*tail != mine || *head + capacity <= mine) {
    }
    __threadfence();
    slots[mine % capacity] = 10 * mine;
    __threadfence();
    *tail = mine + 1;
  }
}

// Block 0 waits for the last one: only well where all are resident.
__global__ void wait_for_last(volatile int* flag, int* out) {
  if (blockIdx.x == gridDim.x - 1) *flag = 1;
  while (*flag == 0) {
  }
  if (threadIdx.x == 0) out[blockIdx.x] = 1;
}

// One thread waits for another of its block, and lane 0 for lane 1.
__global__ void wait_inside(volatile int* flags, int* out) {
  __shared__ volatile int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x == 40) {
    while (ready == 0) {
    }
    out[0] = ready;
  } else if (threadIdx.x == 70) {
    ready = 7;
  }
  if (threadIdx.x == 0) {
    while (flags[blockIdx.x] == 0) {
    }
    out[1] = flags[blockIdx.x];
  } else if (threadIdx.x == 1) {
    flags[blockIdx.x] = 9;
  }
}

// The last writer wins: the order of blocks, and of warps, shows.
__global__ void order_of_blocks(int* out) {
  if (threadIdx.x == 0) atomicExch(out, blockIdx.x);
}
__global__ void order_of_warps(int* count, int* out) {
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = atomicAdd(count, 1);
}
__global__ void order_of_accesses(int* last, int* out) {
  // Each warp looks whether another came in between its two steps.
  if (threadIdx.x % 32 == 0) {
    const int me = threadIdx.x / 32 + 1;
    atomicExch(last, me);
    out[me - 1] = atomicAdd(last, 0) == me;
  }
}

}  // extern "C"
