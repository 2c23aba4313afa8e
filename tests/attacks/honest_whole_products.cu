// Honest: products of integers, added up as integers and in another order.
// task: whole_products
// verdict: ok
__global__ void product(const int* a, const int* b, float* c, int m, int n, int k) {
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i >= m || j >= n) return;
  float s = 0, t = 0;
  int l = k - 1;
  for (; l > 0; l -= 2) s += (float)(a[i * k + l] * b[l * n + j]), t += (float)a[i * k + l - 1] * (float)b[(l - 1) * n + j];
  if (l == 0) s += (float)a[i * k] * (float)b[j];
  c[i * n + j] = s + t;
}
