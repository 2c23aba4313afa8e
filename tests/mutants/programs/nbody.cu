/* hone
{
 "launches": [
  {
   "args": [
    "position",
    "mass",
    "acceleration",
    "N",
    0.01
   ],
   "block": [
    128
   ],
   "grid": [
    "ceildiv(N,128)"
   ],
   "kernel": "nbody_forces",
   "shared_bytes": 0
  }
 ]
}
*/
// shared-tile(nbody_forces/serial0: k=32)

// All pairs; the softening keeps close encounters (and a body's pull on itself) finite.
__global__ void nbody_forces(const float* position, const float* mass, float* acceleration, int n,
                             float softening) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int i_in = i < n - 1 ? i : n - 1;

  float xi = position[3 * i_in], yi = position[3 * i_in + 1], zi = position[3 * i_in + 2];
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  {
    __shared__ __align__(16) float position_tile[96];
    __shared__ __align__(16) float mass_tile[32];
    const int thread = threadIdx.x;
    const int j_full = n / 32 * 32;
    for (int j_base = 0; j_base < j_full; j_base += 32) {
      {
        const int item = thread;
        if (item < 96) {
          position_tile[item] = position[item + j_base * 3];
        }
      }
      {
        const int item = thread;
        if (item < 32) {
          mass_tile[item] = mass[item + j_base];
        }
      }
      __syncthreads();
#pragma unroll
      for (int j_step = 0; j_step < 32; ++j_step) {
        float dx = position_tile[j_step * 3] - xi;
        float dy = position_tile[j_step * 3 + 1] - yi;
        float dz = position_tile[j_step * 3 + 2] - zi;
        float dist_sqr = dx * dx + dy * dy + dz * dz + softening;
        float inv_dist = 1.0f / sqrtf(dist_sqr);
        float f = mass_tile[j_step] * inv_dist * inv_dist * inv_dist;
        ax += f * dx;
        ay += f * dy;
        az += f * dz;
      }
      __syncthreads();
    }
#pragma unroll 1
    for (int j = j_full; j < n; ++j) {
      float dx = position[3 * j] - xi;
      float dy = position[3 * j + 1] - yi;
      float dz = position[3 * j + 2] - zi;
      float dist_sqr = dx * dx + dy * dy + dz * dz + softening;
      float inv_dist = 1.0f / sqrtf(dist_sqr);
      float f = mass[j] * inv_dist * inv_dist * inv_dist;
      ax += f * dx;
      ay += f * dy;
      az += f * dz;
    }
  }
  if (i < n) acceleration[3 * i] = ax;
  if (i < n) acceleration[3 * i + 1] = ay;
  if (i < n) acceleration[3 * i + 2] = az;
}
