// A kernel whose threads each do the work of several old threads, one after another, with something
// before and after all of it: what the atomics rules need to keep partial results to themselves.
#pragma once

#include "rewriters/rules/cooperative/kernel_tools.h"

namespace hone::rules::coop {

struct PersistentShape {
  int items = 1;  ///< chunks of `vec` old threads that one new thread does, spread over the grid
  int vec = 1;    ///< neighbouring old threads in one go, with vector loads
  int block = 0;  ///< new block size; 0: as it is (and then items and vec must be 1)

  [[nodiscard]] bool changes_launch() const { return items > 1 || vec > 1 || block > 0; }
};

/// How the new kernel looks around the old body.
struct PersistentParts {
  std::string preamble;  ///< before everything, seen by everything
  std::string epilogue;  ///< after everything; every thread gets here
};

/// May the kernel be changed in this way: threads independent, early exits only as
/// `if (…) return;` at the top level. With an unchanged launch, barriers are fine.
[[nodiscard]] Result<bool> check_persistent(const Parsed& parsed, const syntax::KernelInfo& info,
                                            const PersistentShape& shape,
                                            const RewriteContext& context);

/// 4, 2 or 1: the widest vector loads that some access of the kernel admits.
[[nodiscard]] int widest_persistent_vector(const Parsed& parsed, const syntax::KernelInfo& info,
                                           const Program& program, const Bindings& sizes);

/// `patch` holds the edits inside the old body (other than of builtins).
[[nodiscard]] Result<Program> make_persistent(const Program& program, const Parsed& parsed,
                                              const syntax::KernelInfo& info, Patch patch,
                                              const PersistentParts& parts,
                                              const PersistentShape& shape,
                                              const RewriteContext& context);

/// The new block size at these sizes, in threads.
[[nodiscard]] std::optional<std::int64_t> new_block_threads(const syntax::KernelInfo& info,
                                                            const PersistentShape& shape,
                                                            const Bindings& sizes);
/// A thread's number in its (new) block, as an expression.
[[nodiscard]] std::string linear_thread(const syntax::KernelInfo& info,
                                        const PersistentShape& shape, const Bindings& sizes);

}  // namespace hone::rules::coop
