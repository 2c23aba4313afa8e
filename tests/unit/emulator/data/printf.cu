// printf of every kind; printf_test.cpp knows the lines.
#include <cstdio>

extern "C" __global__ void prints(int n) {
  if (threadIdx.x == 0) {
    printf("plain text, 100%%\n");
    printf("%d %i %u|%5d|%-5d|%05d|%+d\n", -7, 8, 4000000000u, n, n, n, n);
    printf("%x %X %#x %o %lld %llu %ld\n", 255, 255, 255, 8, -5000000000ll, 18000000000000000000ull, -3l);
    printf("%f %.2f %8.3f|%g %e %E\n", 1.5f, 2.718281828, 3.14159, 1e-10, 12345.678, 0.5);
    printf("%s|%10s|%-6s|%.2s|%c%c\n", "word", "right", "left", "cut", 'o', 'k');
    printf("%*d|%.*f\n", 6, 42, 1, 2.25);
    printf("%hd %hhu %p\n", (short)5, (unsigned char)6, (void*)0x1234);
  }
  __syncthreads();
  printf("[%d]", threadIdx.x);
}
extern "C" __global__ void counts(int* out) { out[threadIdx.x] = printf("%d %d\n", 1, 2); }
extern "C" __global__ void floods(int n) {
  for (int i = 0; i < n; ++i) printf("0123456789012345678901234567890123456789\n");
}
