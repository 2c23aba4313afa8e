// The text of the types that exported launchers use. Private to candidates/export.
#pragma once

#include <string_view>

namespace hone::exporting {

inline constexpr std::string_view kCppSupport = R"TEXT(
// Becomes whatever pointer a kernel takes.
struct hone_pointer {
  void* address;
  template <class T>
  operator T*() const {
    return static_cast<T*>(address);
  }
};
inline hone_pointer hone_any(const void* address) { return {const_cast<void*>(address)}; }

// Vector accesses need what cudaMalloc gives.
inline bool hone_aligned(const void* address) {
  return reinterpret_cast<unsigned long long>(address) % 16 == 0;
}
)TEXT";

/// Of launchers of programs that have tensor maps.
inline constexpr std::string_view kCppTensorMaps = R"TEXT(
// Extents from the innermost dimension out [elements], strides of all others [B], and what one copy
// takes [elements].
struct hone_view {
  cuuint32_t rank;
  cuuint64_t sizes[5], strides[4];
  cuuint32_t box[5];
};

// Becomes the CUtensorMap that a kernel takes.
struct hone_tensor_map {
  alignas(128) unsigned char bytes[128];
  template <class T>
  operator T() const {
    static_assert(sizeof(T) == sizeof(bytes), "the kernel must take a CUtensorMap");
    T value;
    memcpy(&value, bytes, sizeof(bytes));
    return value;
  }
  cudaError_t encode(const void* address, CUtensorMapDataType type, CUtensorMapSwizzle swizzle,
                     const hone_view& view) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                         cudaEnableDefault, &found);
#else
    cudaError_t error =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
    if (error != cudaSuccess) return error;
    if (function == nullptr) return cudaErrorInsufficientDriver;
    const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
    const CUresult result = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)(
        reinterpret_cast<CUtensorMap*>(bytes), type, view.rank, const_cast<void*>(address),
        view.sizes, view.strides, view.box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
  }
};
)TEXT";

/// Of launchers of programs that have scratch buffers.
inline constexpr std::string_view kCppScratch = R"TEXT(
// A temporary, for as long as the stream needs it.
struct hone_scratch {
  explicit hone_scratch(cudaStream_t s) : stream(s) {}
  ~hone_scratch() {
    if (address != nullptr) (void)cudaFreeAsync(address, stream);
  }
  hone_scratch(const hone_scratch&) = delete;
  hone_scratch& operator=(const hone_scratch&) = delete;
  cudaError_t allocate(long long bytes) {
    return cudaMallocAsync(&address, static_cast<size_t>(bytes), stream);
  }
  void* address = nullptr;
  cudaStream_t stream;
};
)TEXT";

/// Of launchers that take any sizes.
inline constexpr std::string_view kCppArithmetic = R"TEXT(
// Arithmetic on the caller's sizes; what does not fit or exist clears `ok`.
struct hone_checked {
  static constexpr long long most = 9223372036854775807LL;
  static constexpr long long least = -most - 1;
  bool ok = true;

  long long fail() {
    ok = false;
    return 1;
  }
  long long neg(long long a) { return a == least ? fail() : -a; }
  long long add(long long a, long long b) {
    return (b > 0 ? a > most - b : a < least - b) ? fail() : a + b;
  }
  long long sub(long long a, long long b) {
    return (b < 0 ? a > most + b : a < least + b) ? fail() : a - b;
  }
  long long mul(long long a, long long b) {
    if (a == 0 || b == 0) return 0;
    const bool fits = a > 0 ? (b > 0 ? a <= most / b : b >= least / a)
                            : (b > 0 ? a >= least / b : b >= most / a);
    return fits ? a * b : fail();
  }
  long long div(long long a, long long b) {
    return b == 0 || (a == least && b == -1) ? fail() : a / b;
  }
  long long rem(long long a, long long b) {
    return b == 0 || (a == least && b == -1) ? fail() : a % b;
  }
  long long ceildiv(long long a, long long b) {
    const long long quotient = div(a, b);
    return ok && rem(a, b) != 0 && (a < 0) == (b < 0) ? quotient + 1 : quotient;
  }
  long long min(long long a, long long b) { return a < b ? a : b; }
  long long max(long long a, long long b) { return a > b ? a : b; }

  long long within(long long value, long long low, long long high) {
    return value < low || value > high ? fail() : value;
  }
  long long extent(long long value) { return within(value, 1, 1LL << 40); }
  // Within what CUDA allows.
  dim3 grid(long long x, long long y, long long z) {
    return dim3(static_cast<unsigned>(within(x, 1, 2147483647LL)),
                static_cast<unsigned>(within(y, 1, 65535)),
                static_cast<unsigned>(within(z, 1, 65535)));
  }
  dim3 block(long long x, long long y, long long z) {
    within(mul(mul(x, y), z), 1, 1024);
    return dim3(static_cast<unsigned>(within(x, 1, 1024)),
                static_cast<unsigned>(within(y, 1, 1024)),
                static_cast<unsigned>(within(z, 1, 64)));
  }
  size_t shared(long long bytes) { return static_cast<size_t>(within(bytes, 0, 2147483647LL)); }
};
)TEXT";

}  // namespace hone::exporting
