// What one thread of a kernel does, read off its text: operations and accesses, each as often as
// the loops around it run at the launch's sizes. A count, not a proof: branches count as taken, a
// loop whose rounds cannot be read off counts as kUnknownRounds. Knows CUDA, and no generator.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "candidates/program.h"
#include "engine/search/ranking/tokens.h"

namespace hone::ranking {

inline constexpr double kUnknownRounds = 16;

/// Of one thread, over its whole life, unless it says otherwise.
struct KernelProfile {
  double arithmetic = 0;  ///< additions, multiplications, fused ones
  double divisions = 0;   ///< and remainders
  double special = 0;     ///< exp, sqrt, …
  double tensor = 0;      // operations of mma and wgmma that fall to this thread
  double global_accesses = 0, global_bytes = 0;  // [B]
  double shared_accesses = 0, shared_bytes = 0;  // [B]
  double widest_global = 0;                      // of one access [B]
  double async_copies = 0;                       ///< cp.async: 4 to 16 bytes each
  double async_bytes = 0;                        // [B]
  double bulk_copies = 0;                        ///< cp.async.bulk, by TMA
  double matrix_loads = 0;                       ///< ldmatrix
  double barriers = 0;                           ///< of the block or of part of it
  double shuffles = 0;
  double atomics = 0;
  double loop_rounds = 0;    ///< of loops that are not unrolled
  double deepest = 0;        ///< loops in loops
  double unrolled = 1;       ///< rounds of unrolled loops in each other, the most
  double local_bytes = 0;    // of arrays of its own, which are to be registers [B]
  double static_shared = 0;  // of the block [B]
  double min_blocks = 0;     ///< of an SM, that its launch bounds ask for; 0: they do not say
  double warpgroup = 0;      ///< 1: wgmma
  double clusters = 0;       ///< 1: blocks work together
  double unknown_loops = 0;
};

/// A source that is looked at for one or more launches. Not thread-safe.
class SourceReader {
 public:
  /// `program` must outlive it.
  explicit SourceReader(const ConcreteProgram& program);
  /// All zeros where the kernel is not found.
  [[nodiscard]] KernelProfile profile(const ConcreteLaunch& launch) const;

  struct Function {
    std::string_view name;
    std::vector<std::string_view> template_names;
    std::size_t parameters = 0;  ///< the token "("
    std::size_t body = 0;        ///< the token "{"
    double min_blocks = 0;
  };

 private:
  void find_functions();
  [[nodiscard]] std::vector<std::string_view> template_names(std::size_t at) const;

  const ConcreteProgram& program_;
  std::vector<Token> tokens_;
  std::vector<Function> functions_;
};

}  // namespace hone::ranking
