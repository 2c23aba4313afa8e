#include "rewriters/schedules/printing/instructions.h"

#include "rewriters/schedules/printing/text.h"

namespace hone::schedules {
namespace {

constexpr const char* kPackType = R"(
// kCount values that are loaded and stored at once.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) $prefixpack {
  T at[kCount];
};
)";

constexpr const char* kAddress = R"(
// Where something is in shared memory, in 32 bits.
__device__ __forceinline__ unsigned $prefixaddress(const void* of) {
  return static_cast<unsigned>(__cvta_generic_to_shared(of));
}
)";

constexpr const char* kAsyncCopies = R"(
// Starts a copy from global to shared memory; zeros where not `inside`.
template <int kBytes>
__device__ __forceinline__ void $prefixcopy(void* to, const void* from, bool inside = true) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = inside ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(at), "l"(from),
                 "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(kBytes),
                 "r"(bytes)
                 : "memory");
  }
}
// Closes a group of copies, and waits until at most kLeft groups are on their way.
__device__ __forceinline__ void $prefixcommit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kLeft>
__device__ __forceinline__ void $prefixwait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}
)";

constexpr const char* kMatrixLoad = R"($what
__device__ __forceinline__ void $prefixmatrices$suffix(unsigned (&to)[4], const void* row) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4$trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at)
               : "memory");
}
)";

constexpr const char* kWarpMultiply = R"(
// sum += a * b on the tensor cores: 16 x $k times $k x 8.
__device__ __forceinline__ void $prefixmultiply(float* sum, const unsigned (&a)[4],
                                                const unsigned (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k$k.row.col.f32.$kind.$kind_b.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
)";

constexpr const char* kRounded = R"(
// An f32's bits rounded to tf32: 10 bits of mantissa, ties away from zero. What would become infinite
// is cut off; infinity stays, and so does NaN as a GPU makes it.
__device__ __forceinline__ unsigned $prefixrounded(unsigned bits) {
  if (fabsf(__uint_as_float(bits)) < 0x1.ffep127f) bits += 0x1000u;
  return bits & 0xffffe000u;
}
)";

constexpr const char* kSplit = R"(
// What rounding to tf32 leaves, as tf32: x = big + small to 2^-23 of x. Of infinity NaN is left.
__device__ __forceinline__ void $prefixsplit(unsigned& big, unsigned& small, unsigned bits) {
  big = $prefixrounded(bits);
  small = $prefixrounded(__float_as_uint(__uint_as_float(bits) - __uint_as_float(big)));
}
)";

constexpr const char* kPair = R"(
// Two numbers rounded to $kind, the first in the lower half.
__device__ __forceinline__ unsigned $prefix$name(float low, float high) {
  unsigned both;
  asm("cvt.rn.$kindx2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
)";

constexpr const char* kPower = R"(
// 2^x to two units in the last place; 0 where that is below the normal numbers.
__device__ __forceinline__ float $prefixpower(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
)";

}  // namespace

std::string pack_type(const std::string& prefix) { return filled(kPackType, {{"prefix", prefix}}); }
std::string address_function(const std::string& prefix) {
  return filled(kAddress, {{"prefix", prefix}});
}

std::string async_copies(const std::string& prefix) {
  return filled(kAsyncCopies, {{"prefix", prefix}});
}

std::string matrix_loads(const std::string& prefix, bool transposed) {
  Holes holes = {{"prefix", prefix}};
  holes["what"] =
      "\n// Four 8 x 8 matrices of 16-bit values, or 8 x 4 of 32-bit ones: each lane says where a\n"
      "// row is.";
  holes["suffix"] = holes["trans"] = "";
  std::string text = filled(kMatrixLoad, holes);
  if (!transposed) return text;
  holes["what"] = "// The same, each matrix transposed.";
  holes["suffix"] = "_transposed";
  holes["trans"] = ".trans";
  return text + filled(kMatrixLoad, holes);
}

std::string warp_multiply(const WarpMultiply& multiply, const std::string& prefix) {
  return filled(kWarpMultiply, {{"prefix", prefix},
                                {"k", std::to_string(multiply.k)},
                                {"kind", multiply.kind},
                                {"kind_b", multiply.kind_b}});
}

std::string tf32_roundings(const std::string& prefix, bool split) {
  return filled(std::string(kRounded) + (split ? kSplit : ""), {{"prefix", prefix}});
}

std::string pair_function(const std::string& prefix, const std::string& name, ScalarType type) {
  return filled(kPair, {{"prefix", prefix}, {"name", name}, {"kind", kind_of(type)}});
}

std::string power_function(const std::string& prefix) {
  return filled(kPower, {{"prefix", prefix}});
}

std::string kind_of(ScalarType type) { return std::string(to_string(type)); }

}  // namespace hone::schedules
