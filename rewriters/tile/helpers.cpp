#include "rewriters/tile/helpers.h"

#include <fmt/format.h>

#include "rewriters/schedules/printing/instructions.h"
#include "rewriters/schedules/printing/text.h"

namespace hone::tile {
namespace {

using schedules::filled;
using schedules::Holes;

constexpr const char* kBarriers = R"(
// Barriers in shared memory: a phase ends with the last arrival and the last byte that were announced.
__device__ __forceinline__ void $prefixinit(unsigned long long* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"($prefixaddress(barrier)),
               "r"(arrivals)
               : "memory");
}
// Barriers that were made are there for the copies, too.
__device__ __forceinline__ void $prefixinit_ends() {
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void $prefixarrive(unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"($prefixaddress(barrier))
               : "memory");
}
__device__ __forceinline__ void $prefixexpect(unsigned long long* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   $prefixaddress(barrier)),
               "r"(bytes)
               : "memory");
}
// Until the phase of this parity has ended.
__device__ __forceinline__ void $prefixwait_for(unsigned long long* barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred ended;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra again;\n}" ::"r"($prefixaddress(barrier)),
      "r"(parity)
      : "memory");
}
)";

constexpr const char* kRegisters = R"(
// Gives registers back, or takes what others gave.
template <int kRegisters>
__device__ __forceinline__ void $prefixgive_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void $prefixtake_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
)";

constexpr const char* kCluster = R"(
// All blocks of the cluster meet: what each wrote to its barriers before the others see.
__device__ __forceinline__ void $prefixmeet() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
// Arrives at the barrier of that name in the block of this rank. Products have read what they read,
// and nothing was written: no fence is needed, which would wait for outputs on their way.
__device__ __forceinline__ void $prefixarrive_at(unsigned long long* barrier, int rank) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(
          $prefixaddress(barrier)),
      "r"(rank)
      : "memory");
}
)";

constexpr const char* kSharedSums = R"(
// Arrives at the same barrier in the block of this rank. What the threads that met before this did to
// shared memory has happened for whoever waits there.
__device__ __forceinline__ void $prefixarrive_cluster(unsigned long long* barrier, int rank) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(
          $prefixaddress(barrier)),
      "r"(rank)
      : "memory");
}
// Until all blocks of the cluster have arrived.
__device__ __forceinline__ void $prefixwait_cluster(unsigned long long* barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred ended;\nagain:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra again;\n}" ::"r"($prefixaddress(barrier)),
      "r"(parity)
      : "memory");
}
// What lies there in the block of this rank.
__device__ __forceinline__ float4 $prefixread_from(const float* place, int rank) {
  float4 got;
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n}"
      : "=f"(got.x), "=f"(got.y), "=f"(got.z), "=f"(got.w)
      : "r"($prefixaddress(place)), "r"(rank)
      : "memory");
  return got;
}
)";

/// `blocks` > 1: to each of them.
std::string copy_function(int rank, int blocks, const std::string& prefix) {
  std::string parameters, numbers, operands;
  for (int d = 0; d < rank; ++d) {
    parameters += fmt::format(", int at{}", d);
    numbers += fmt::format("{}%{}", d == 0 ? "" : ", ", 3 + d);
    operands += fmt::format(", \"r\"(at{})", d);
  }
  return filled(R"(
// Starts the copy of a box$whom, whose bytes count at the barrier; at0 is along the innermost
// dimension.
__device__ __forceinline__ void $prefixcopy_box$suffix(void* to, const CUtensorMap& map,
                                                unsigned long long* barrier$parameters) {
  asm volatile(
      "cp.async.bulk.tensor.$rankd.shared::cluster.global.mbarrier::complete_tx::bytes$multicast "
      "[%0], [%1, {$numbers}], [%2]$mask;" ::"r"($prefixaddress(to)),
      "l"(&map), "r"($prefixaddress(barrier))$operands$blocks
      : "memory");
}
)",
                {{"prefix", prefix},
                 {"rank", std::to_string(rank)},
                 {"parameters", parameters},
                 {"numbers", numbers},
                 {"operands", operands},
                 {"whom", blocks == 1 ? "" : " to all blocks of the cluster"},
                 {"suffix", blocks == 1 ? "" : "_for_all"},
                 {"multicast", blocks == 1 ? "" : ".multicast::cluster"},
                 {"mask", blocks == 1 ? "" : fmt::format(", %{}", 3 + rank)},
                 {"blocks", blocks == 1 ? ""
                                        : fmt::format(", \"h\"(static_cast<unsigned short>({}))",
                                                      (1 << blocks) - 1)}});
}

/// `rank`: of the tensor. `adds`: to what it has, each element at once.
std::string store_function(int rank, bool adds, const std::string& prefix) {
  std::string parameters, numbers, operands;
  for (int d = 0; d < rank; ++d) {
    parameters += fmt::format(", int at{}", d);
    numbers += fmt::format("{}%{}", d == 0 ? "" : ", ", 2 + d);
    operands += fmt::format(", \"r\"(at{})", d);
  }
  return filled(R"(
// $what; at0 is along the innermost dimension.
__device__ __forceinline__ void $prefix$name_box(const CUtensorMap& map, const void* from$parameters) {
  asm volatile(
      "cp$reduce.async.bulk.tensor.$rankd.global.shared::cta$add.bulk_group [%0, {$numbers}], [%1];" ::"l"(
          &map),
      "r"($prefixaddress(from))$operands
      : "memory");
}
)",
                {{"prefix", prefix},
                 {"what", adds ? "Starts to add a box to what the tensor has there"
                               : "Starts the copy of a box to the tensor"},
                 {"name", adds ? "add" : "store"},
                 {"reduce", adds ? ".reduce" : ""},
                 {"add", adds ? ".add" : ""},
                 {"rank", std::to_string(rank)},
                 {"parameters", parameters},
                 {"numbers", numbers},
                 {"operands", operands}});
}

constexpr const char* kMeetGroup = R"(
// The 128 threads of a warp group meet.
__device__ __forceinline__ void $prefixmeet_group() {
  asm volatile("bar.sync %0, 128;" ::"r"(8 + static_cast<int>(threadIdx.x) / 128) : "memory");
}
)";

constexpr const char* kStagings = R"(
// Four 8 x 8 matrices of 16 bits to shared memory: two of neighbours in each register, eight lanes
// say where the rows of each matrix begin.
__device__ __forceinline__ void $prefixstore_matrices(void* row, unsigned a, unsigned b, unsigned c,
                                                      unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   $prefixaddress(row)),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
__device__ __forceinline__ void $prefixstores_end() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Until all but the last kLeft copies that this thread has started have read what they copy.
template <int kLeft>
__device__ __forceinline__ void $prefixstores_have_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kLeft) : "memory");
}
__device__ __forceinline__ void $prefixstores_wait() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
)";

constexpr const char* kRuns = R"(
// Adds a run's sums to those of the runs before. The rounding error of that is the next run's
// beginning. (Kahan, Comm. ACM 8 (1965), 40.)
template <int kCount>
__device__ __forceinline__ void $prefixadd_runs(float (&sums)[kCount], float (&runs)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const float sum = sums[i], more = sum + runs[i];
    runs[i] = fabsf(more) <= 3.40282347e38f ? runs[i] - (more - sum) : 0.0f;
    sums[i] = more;
  }
}
)";

constexpr const char* kShortRuns = R"(
// Adds a run's sums to those of the runs before.
template <int kCount>
__device__ __forceinline__ void $prefixadd_short_runs(float (&sums)[kCount],
                                                      const float (&runs)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) sums[i] += runs[i];
}
)";

}  // namespace

std::string helpers_of(const Helpers& helpers, const std::string& prefix) {
  const Holes holes = {{"prefix", prefix}};
  std::string text;
  if (helpers.barriers) text += schedules::address_function(prefix) + filled(kBarriers, holes);
  if (helpers.cluster) text += filled(kCluster, holes);
  if (helpers.shared_sums) text += filled(kSharedSums, holes);
  for (const auto& [rank, blocks] : helpers.copies) text += copy_function(rank, blocks, prefix);
  for (const auto& [rank, adds] : helpers.stores) text += store_function(rank, adds, prefix);
  if (helpers.groups_meet) text += filled(kMeetGroup, holes);
  if (!helpers.stores.empty()) text += filled(kStagings, holes);
  if (helpers.registers) text += filled(kRegisters, holes);
  if (helpers.runs) text += filled(kRuns, holes);
  if (helpers.short_runs) text += filled(kShortRuns, holes);
  if (helpers.packs) text += schedules::pack_type(prefix);
  return text;
}

}  // namespace hone::tile
