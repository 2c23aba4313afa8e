/* hone {"name": "attacked_turned_in_place", "sizes": {"ROWS": 16384}, "check_sizes": [{"ROWS": 40}, {"ROWS": 17}],
  "buffers": [{"name": "y", "type": "f32", "shape": ["ROWS", 32], "role": "inout"},
              {"name": "kept", "type": "f32", "shape": ["ROWS", 32], "role": "scratch"}],
  "launches": [{"kernel": "keep", "grid": ["ROWS"], "block": [32], "args": ["y", "kept"]},
               {"kernel": "turn", "grid": ["ROWS"], "block": [32], "args": ["y", "kept"]}]} */
// Each row the other way round.
__global__ void keep(const float* y, float* kept) { kept[blockIdx.x * 32 + threadIdx.x] = y[blockIdx.x * 32 + threadIdx.x]; }
__global__ void turn(float* y, const float* kept) { y[blockIdx.x * 32 + threadIdx.x] = kept[blockIdx.x * 32 + 31 - threadIdx.x]; }
