/* hone
{ "name": "nbody",
  "sizes": {"N": 32768},
  "check_sizes": [{"N": 128}, {"N": 96}, {"N": 101}],
  "buffers": [
    {"name": "position", "type": "f32", "shape": ["N", 3], "fill": {"uniform": [-1, 1]}},
    {"name": "mass", "type": "f32", "shape": ["N"], "fill": {"uniform": [0.1, 1]}},
    {"name": "acceleration", "type": "f32", "shape": ["N", 3], "role": "out"} ],
  "launches": [
    {"kernel": "nbody_forces", "grid": ["ceildiv(N,128)"], "block": [128],
     "args": ["position", "mass", "acceleration", "N", 0.01]} ],
  "tolerance": {"rtol": 1e-3, "atol": 1e-3},
  "math": "reassociate",
  "flops": "20*N*N",
  "torch": "(lambda f: f @ position - position * f.sum(1, keepdim=True))(mass * (torch.cdist(position, position).square() + 0.01).pow(-1.5))" }
*/

// All pairs; the softening keeps close encounters (and a body's pull on itself) finite.
__global__ void nbody_forces(const float* position, const float* mass, float* acceleration, int n,
                             float softening) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;

  float xi = position[3 * i], yi = position[3 * i + 1], zi = position[3 * i + 2];
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (int j = 0; j < n; j++) {
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
  acceleration[3 * i] = ax;
  acceleration[3 * i + 1] = ay;
  acceleration[3 * i + 2] = az;
}
