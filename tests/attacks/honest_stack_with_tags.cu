// Takes buffers from a stack of free ones and puts them back, with a tag that counts: right.
// task: row_mean
// verdict: ok
__device__ int room[16][32];
__device__ int next_free[16];
__device__ unsigned long long top;
__device__ unsigned begun, ended;
__global__ void row_mean(const float* x, float* mean, int cols) {
  __shared__ float part[4];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x == 0 && atomicInc(&begun, gridDim.x - 1) == 0) {
    for (int k = 0; k < 16; ++k) ((volatile int*)next_free)[k] = k < 15 ? k + 2 : 0;
    __threadfence();
    atomicExch(&top, 1ull);
  }
  float sum = 0;
  for (int c = warp * 32; c < cols; c += 128) {
    int mine = 0;
    if (lane == 0) {
      unsigned long long old, next;
      do {
        while ((old = *(volatile unsigned long long*)&top) % 32 == 0) {}
        next = (old / 32 + 1) * 32 + ((volatile int*)next_free)[old % 32 - 1];
      } while (atomicCAS(&top, old, next) != old);
      mine = old % 32 - 1;
      __threadfence();
    }
    mine = __shfl_sync(~0u, mine, 0);
    volatile float* own = (volatile float*)room[mine];
    own[lane] = c + lane < cols ? x[blockIdx.x * cols + c + lane] : 0;
    __syncwarp();
    sum += own[31 - lane];
    __syncwarp();
    if (lane == 0) {
      unsigned long long old;
      __threadfence();
      do {
        old = *(volatile unsigned long long*)&top;
        ((volatile int*)next_free)[mine] = old % 32;
        __threadfence();
      } while (atomicCAS(&top, old, (old / 32 + 1) * 32 + mine + 1) != old);
    }
    __syncwarp();
  }
  for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(~0u, sum, k);
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  mean[blockIdx.x] = (part[0] + part[1] + part[2] + part[3]) / cols;
  __threadfence();
  if (atomicInc(&ended, gridDim.x - 1) == gridDim.x - 1) atomicExch(&top, 0ull);
}
