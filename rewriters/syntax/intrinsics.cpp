#include "rewriters/syntax/intrinsics.h"

#include <set>

namespace hone::syntax {

CallKind call_kind(const Expr& call) {
  using Names = std::set<std::string_view>;
  static const Names out_pointer = {"sincosf", "sincos", "sincospif", "sincospi", "__sincosf",
                                    "frexpf",  "frexp",  "modff",     "modf"};
  static const Names loads = {"__ldg", "__ldca", "__ldcg", "__ldcs", "__ldlu", "__ldcv"};
  static const Names stores = {"__stwb", "__stcg", "__stcs", "__stwt"};
  static const Names warp = {"__ballot_sync",    "__all_sync", "__any_sync",
                             "__uni_sync",       "__syncwarp", "__activemask",
                             "load_matrix_sync", "mma_sync",   "store_matrix_sync",
                             "fill_fragment",    "reduce",     "inclusive_scan",
                             "exclusive_scan",   ".any",       ".all",
                             ".ballot"};
  static const Names group = {
      "this_thread_block", "coalesced_threads", "tiled_partition",  ".thread_rank", ".size",
      ".num_threads",      ".meta_group_rank",  ".meta_group_size", ".group_index", ".thread_index",
      ".group_dim",        ".dim_threads"};
  static const Names unknown = {"__threadfence",
                                "__threadfence_block",
                                "__threadfence_system",
                                "printf",
                                "__trap",
                                "__brkpt",
                                "__nanosleep",
                                "__prof_trigger",
                                "clock",
                                "clock64",
                                "__globaltimer",
                                "malloc",
                                "free",
                                "memcpy",
                                "memset",
                                "__isShared",
                                "__isGlobal",
                                "__cvta_generic_to_shared",
                                "__cvta_generic_to_global",
                                "__builtin_unreachable",
                                "__builtin_trap",
                                "this_grid",
                                "memcpy_async",
                                "wait",
                                "swap"};
  const std::string_view name = call.text;
  if (call.callee != nullptr) return CallKind::kUser;
  if (!call.intrinsic || name.empty()) return CallKind::kUnknown;
  if (name.starts_with("__syncthreads") || name == ".sync" || name == "sync") {
    return CallKind::kBarrier;
  }
  if (name.starts_with("atomic")) return CallKind::kAtomic;
  if (loads.count(name) != 0) return CallKind::kLoad;
  if (stores.count(name) != 0) return CallKind::kStore;
  if (name.starts_with("__shfl") || name.starts_with("__match_") || name.starts_with("__reduce_") ||
      name.starts_with(".shfl") || warp.count(name) != 0) {
    return CallKind::kWarp;
  }
  if (group.count(name) != 0) return CallKind::kGroup;
  if (unknown.count(name) != 0) return CallKind::kUnknown;
  if (out_pointer.count(name) != 0) return CallKind::kOutPointer;
  return CallKind::kPure;
}

}  // namespace hone::syntax
