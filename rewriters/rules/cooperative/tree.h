// Recognises reductions over a shared array: a loop that halves (or doubles) a stride, with a
// barrier in every round, and the unrolled last warp after it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rewriters/rules/cooperative/kernel_tools.h"

namespace hone::rules::coop {

/// `sm[i] = sm[i] op sm[i + stride]` as a fold of "$o" into "$v".
struct TreeFold {
  const syntax::Variable* array = nullptr;
  std::string fold;
  bool reassociates = false;
};

struct Tree {
  const syntax::Stmt* loop = nullptr;
  const syntax::Stmt* tail = nullptr;  ///< the unrolled last warp; null when the loop does it all
  std::vector<TreeFold> folds;         ///< one per array
  syntax::SourceRange range;           ///< loop and tail
};

/// The trees of a kernel over one-dimensional blocks of `threads` threads. Every one leaves the
/// total of sm[0 .. threads-1] in sm[0].
[[nodiscard]] std::vector<Tree> find_trees(const Parsed& parsed, const syntax::KernelInfo& info,
                                           std::int64_t threads, const Bindings& sizes);

}  // namespace hone::rules::coop
