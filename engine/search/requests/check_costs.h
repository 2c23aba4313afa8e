// What emulating a task's reference takes at given sizes: sizes that hone chooses itself, to check
// at, must be affordable. One owner, one thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "candidates/task.h"
#include "evaluator/survey.h"

namespace hone {

class CheckCosts {
 public:
  using Ask = std::function<Result<std::vector<Survey>>(const std::vector<ConcreteProgram>&)>;

  /// `task` must outlive it. `ask` may be empty, as in a service, or have no more answers: then
  /// sizes are judged by their elements, threads and operations, and by what others took.
  explicit CheckCosts(const Task& task, Ask ask = {}) : task_(task), ask_(std::move(ask)) {}

  /// May hone choose these sizes? The reference is to take a tenth of what a check may: a
  /// candidate's tiles do their whole work at a small size, too.
  [[nodiscard]] bool affordable(const Bindings& sizes);
  /// Unknown where nobody can say.
  [[nodiscard]] const Survey& at(const Bindings& sizes);

 private:
  struct Work {
    double elements = 0, threads = 0, flops = 0;
  };
  [[nodiscard]] Work work_of(const ConcreteProgram& program, const Bindings& sizes) const;
  [[nodiscard]] bool looks_small(const Work& work) const;

  const Task& task_;
  const Ask ask_;
  std::map<Bindings, Survey> known_;
};

/// The task's check sizes; where they are hone's own choice and not affordable, smaller ones.
[[nodiscard]] std::vector<Bindings> affordable_check_sizes(const Task& task, CheckCosts& costs);

/// A line for each check size that takes longer than a chosen one may: which, how long, what would
/// be right.
[[nodiscard]] std::vector<std::string> slow_check_sizes(const Task& task, CheckCosts& costs);

/// `check` with each size raised to a multiple of the largest power of two that divides the timed
/// size: up to 64, or as far as that is affordable.
[[nodiscard]] Bindings affordable_aligned_sizes(const Task& task, const Bindings& check,
                                                CheckCosts& costs);

/// "M=33 N=65"
[[nodiscard]] std::string sizes_text(const Bindings& sizes);

}  // namespace hone
