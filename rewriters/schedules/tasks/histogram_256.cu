/* hone
{ "name": "histogram_256",
  "sizes": {"N": 67108864},
  "check_sizes": [{"N": 8192}, {"N": 5000}, {"N": 3001}],
  "buffers": [
    {"name": "pixels", "type": "u8", "shape": ["N"], "fill": {"integers": [0, 255]}},
    {"name": "counts", "type": "i32", "shape": [256], "role": "out"} ],
  "launches": [
    {"kernel": "clear", "grid": [1], "block": [256], "args": ["counts"]},
    {"kernel": "histogram", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["pixels", "counts", "N"]} ],
  "tolerance": {"rtol": 0, "atol": 0},
  "torch": "torch.bincount(pixels, minlength=256).to(torch.int32)" }
*/

__global__ void clear(int* counts) { counts[threadIdx.x] = 0; }

__global__ void histogram(const unsigned char* pixels, int* counts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counts[pixels[i]], 1);
}
