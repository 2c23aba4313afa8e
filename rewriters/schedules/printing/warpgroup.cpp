// Hopper's asynchronous products, as text.
#include "rewriters/schedules/printing/warpgroup.h"

#include <fmt/format.h>

#include "rewriters/schedules/printing/text.h"

namespace hone::schedules {

std::string warpgroup_helpers(const std::string& prefix) {
  return filled(R"(
// What wgmma is told of a tile in shared memory: 128-byte rows with their 16-byte pieces swizzled,
// eight rows to 1024 bytes. kLeap: bytes between bands of 64 elements, where rows are of one k.
template <int kLeap>
__device__ __forceinline__ unsigned long long $prefixdescriptor(const void* tile) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  return static_cast<unsigned long long>((at & 0x3ffff) >> 4) |
         static_cast<unsigned long long>(kLeap >> 4) << 16 | 64ull << 32 | 1ull << 62;
}
// Products start; registers and shared memory written before are seen by them.
__device__ __forceinline__ void $prefixwgmma_begin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void $prefixwgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Until at most kLeft groups of products are under way.
template <int kLeft>
__device__ __forceinline__ void $prefixwgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}
// What products are to read, or have written: the compiler moves no use of it over this.
template <int kCount>
__device__ __forceinline__ void $prefixsettle(float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i])::"memory");
}
template <int kCount>
__device__ __forceinline__ void $prefixsettle(unsigned (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(values[i])::"memory");
}
// What was copied to shared memory, for the tensor cores to see after a barrier.
__device__ __forceinline__ void $prefixpublish() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
)",
                {{"prefix", prefix}});
}

std::string warpgroup_multiply(const Warpgroup& w, const std::string& prefix) {
  std::string sums, operands;
  for (int i = 0; i < w.n / 2; ++i) {
    if (i % 8 == 0) sums += i == 0 ? "\"{" : "\"\n      \" ";
    sums += fmt::format("%{}{}", i, i + 1 == w.n / 2 ? "}, " : ", ");
    operands += fmt::format("{}\"+f\"(sum[{}])",
                            i == 0       ? ""
                            : i % 4 == 0 ? ",\n        "
                                         : ", ",
                            i);
  }
  sums += "\"";
  // A from shared memory, or from four registers.
  const bool registers = w.a_in_registers;
  const auto number = [&](int i) { return fmt::format("%{}", w.n / 2 + i); };
  const Holes holes = {
      {"prefix", prefix},
      {"n", std::to_string(w.n)},
      {"a_type", registers ? "const unsigned (&a)[4]" : "unsigned long long a"},
      {"a_in", registers ? "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])" : "\"l\"(a)"},
      {"half", std::to_string(w.n / 2)},
      {"k", std::to_string(w.k)},
      {"kind", w.kind},
      {"kind_b", w.kind_b.empty() ? w.kind : w.kind_b},
      {"sums", sums},
      {"operands", operands},
      {"a", registers
                ? fmt::format("{{{}, {}, {}, {}}}", number(0), number(1), number(2), number(3))
                : number(0)},
      {"b", number(registers ? 4 : 1)},
      {"add", number(registers ? 5 : 2)},
      {"orientation",
       // tf32 and 8-bit floats have none, registers have none.
       w.k != 16          ? ""
       : w.a_in_registers ? fmt::format(", {}", w.b_k_rows ? 1 : 0)
                          : fmt::format(", {}, {}", w.a_k_rows ? 1 : 0, w.b_k_rows ? 1 : 0)},
      {"name", w.name},
  };
  return filled(
      R"(// sum = a * b, on top of what it was if `add`: 64 x $k times $k x $n, started only.
__device__ __forceinline__ void $prefix$name(float (&sum)[$half], $a_type,
                                                unsigned long long b, bool add) {
  asm volatile(
      "{.reg .pred add; setp.ne.b32 add, $add, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n$nk$k.f32.$kind.$kind_b "
      $sums
      "$a, $b, add, 1, 1$orientation;}"
      : $operands
      : $a_in, "l"(b), "r"(static_cast<int>(add)));
}
)",
      holes);
}

}  // namespace hone::schedules
