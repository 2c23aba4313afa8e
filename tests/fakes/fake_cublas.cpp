// A libcublas.so.13 and libcublasLt in one without a GPU: column-major products of f32 in the
// memory of fake_cuda.cpp, by definition and not by hone's reading of it. Every call takes 1 ms of
// that driver's own time.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

void pass_time() {
  using Copy = int(std::uint64_t, std::uint64_t, std::size_t, void*);
  void* driver = dlopen(std::getenv("HONE_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
  auto* copy = reinterpret_cast<Copy*>(dlsym(driver, "cuMemcpyDtoDAsync_v2"));
  char from = 0, to = 0;
  if (copy != nullptr)
    copy(reinterpret_cast<std::uint64_t>(&to), reinterpret_cast<std::uint64_t>(&from), 1, nullptr);
}

int product(int op_a, int op_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
            std::int64_t lda, const float* b, std::int64_t ldb, float* c, std::int64_t ldc) {
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        sum += (op_a == 0 ? a[i + l * lda] : a[l + i * lda]) *
               (op_b == 0 ? b[l + j * ldb] : b[j + l * ldb]);
      }
      c[i + j * ldc] = sum;
    }
  }
  return 0;
}

struct Desc {
  int op_a = 0, op_b = 0;
};
struct Layout {
  int type = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t ld = 0, stride = 0;
  std::int32_t batch = 1;
};
constexpr int kInvalidValue = 7, kNotSupported = 15;

}  // namespace

extern "C" {

int cublasCreate_v2(void** handle) { return *handle = new int(0), 0; }
int cublasSetStream_v2(void*, void*) { return 0; }
int cublasSetWorkspace_v2(void*, void*, std::size_t) { return 0; }
int cublasGetVersion_v2(void*, int* version) { return *version = 130100, 0; }
const char* cublasGetStatusString(int status) {
  return status == kNotSupported ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_INVALID_VALUE";
}
int cublasSgemv_v2(void*, int op, int m, int n, const float* alpha, const float* a, int lda,
                   const float* x, int incx, const float* beta, float* y, int incy) {
  if (*alpha != 1 || *beta != 0 || incx != 1 || incy != 1 || lda < m) return kInvalidValue;
  pass_time();
  return op == 0 ? product(0, 0, m, 1, n, a, lda, x, n, y, m)
                 : product(1, 0, n, 1, m, a, lda, x, m, y, n);
}
int cublasDgemv_v2() { return kNotSupported; }
int cublasGemmStridedBatchedEx(void*, int op_a, int op_b, int m, int n, int k, const void* alpha,
                               const void* a, int type_a, int lda, long long stride_a,
                               const void* b, int type_b, int ldb, long long stride_b,
                               const void* beta, void* c, int type_c, int ldc, long long stride_c,
                               int batch, int compute, int) {
  if ((type_a | type_b | type_c) != 0 || (compute != 68 && compute != 77)) return kNotSupported;
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0 ||
      lda < (op_a == 0 ? m : k) || ldb < (op_b == 0 ? k : n) || ldc < m)
    return kInvalidValue;
  pass_time();
  for (int i = 0; i < batch; ++i) {
    product(op_a, op_b, m, n, k, static_cast<const float*>(a) + i * stride_a, lda,
            static_cast<const float*>(b) + i * stride_b, ldb, static_cast<float*>(c) + i * stride_c,
            ldc);
  }
  return 0;
}
int cublasGemmEx(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                 const void* a, int type_a, int lda, const void* b, int type_b, int ldb,
                 const void* beta, void* c, int type_c, int ldc, int compute, int algorithm) {
  return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, 0, b,
                                    type_b, ldb, 0, beta, c, type_c, ldc, 0, 1, compute, algorithm);
}

int cublasLtCreate(void** handle) { return *handle = new int(0), 0; }
int cublasLtMatmulDescCreate(Desc** desc, int, int) { return *desc = new Desc, 0; }
int cublasLtMatmulDescDestroy(Desc* desc) { return delete desc, 0; }
int cublasLtMatmulDescSetAttribute(Desc* desc, int what, const void* value, std::size_t bytes) {
  if (bytes != sizeof(int) || (what != 3 && what != 4)) return kInvalidValue;
  std::memcpy(what == 3 ? &desc->op_a : &desc->op_b, value, bytes);
  return 0;
}
int cublasLtMatrixLayoutCreate(Layout** layout, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t ld) {
  if (ld < static_cast<std::int64_t>(rows)) return kInvalidValue;
  return *layout = new Layout{type, rows, columns, ld}, 0;
}
int cublasLtMatrixLayoutDestroy(Layout* layout) { return delete layout, 0; }
int cublasLtMatrixLayoutSetAttribute(Layout* layout, int what, const void* value,
                                     std::size_t bytes) {
  if (what == 5 && bytes == sizeof layout->batch) {
    std::memcpy(&layout->batch, value, bytes);
  } else if (what == 6 && bytes == sizeof layout->stride) {
    std::memcpy(&layout->stride, value, bytes);
  } else {
    return kInvalidValue;
  }
  return 0;
}
int cublasLtMatmulPreferenceCreate(int** preference) { return *preference = new int(0), 0; }
int cublasLtMatmulPreferenceDestroy(int* preference) { return delete preference, 0; }
int cublasLtMatmulPreferenceSetAttribute(int*, int what, const void*, std::size_t bytes) {
  return what == 1 && bytes == 8 ? 0 : kInvalidValue;
}
struct Heuristic {
  std::uint64_t algorithm[8];
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
int cublasLtMatmulAlgoGetHeuristic(void*, Desc*, Layout*, Layout*, Layout*, Layout*, int*,
                                   int requested, Heuristic* results, int* found) {
  if (requested < 1) return kInvalidValue;
  results[0] = {};
  results[0].algorithm[0] = 42;
  return *found = 1, 0;
}
int cublasLtMatmul(void*, Desc* desc, const float* alpha, const float* a, Layout* la,
                   const float* b, Layout* lb, const float* beta, const float* c, Layout*, float* d,
                   Layout* ld, const std::uint64_t* algorithm, void* workspace, std::size_t,
                   void*) {
  if (*alpha != 1 || *beta != 0 || algorithm[0] != 42 || workspace == nullptr || c != d)
    return kInvalidValue;
  if ((la->type | lb->type | ld->type) != 0) return kNotSupported;
  const auto m = static_cast<std::int64_t>(desc->op_a == 0 ? la->rows : la->columns),
             k = static_cast<std::int64_t>(desc->op_a == 0 ? la->columns : la->rows),
             n = static_cast<std::int64_t>(desc->op_b == 0 ? lb->columns : lb->rows),
             k_b = static_cast<std::int64_t>(desc->op_b == 0 ? lb->rows : lb->columns);
  if (k != k_b || m != static_cast<std::int64_t>(ld->rows) ||
      n != static_cast<std::int64_t>(ld->columns) || la->batch != ld->batch ||
      lb->batch != ld->batch)
    return kInvalidValue;
  pass_time();
  for (std::int64_t i = 0; i < ld->batch; ++i) {
    product(desc->op_a, desc->op_b, m, n, k, a + i * la->stride, la->ld, b + i * lb->stride, lb->ld,
            d + i * ld->stride, ld->ld);
  }
  return 0;
}
}
