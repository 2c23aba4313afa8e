// The search space of one task: which program a recipe yields at the timed sizes, and which steps
// may follow it. Caches both by recipe. Not thread-safe: the search thread owns it.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "candidates/recipe.h"
#include "candidates/result.h"
#include "rewriters/core/rewriter.h"

namespace hone {

class Space {
 public:
  /// `context.task` and `context.sizes` (the timed ones) must outlive the space. Rewriters named in
  /// `disabled` propose nothing.
  Space(RewriteContext context, std::vector<std::string> disabled);

  /// Replays at the timed sizes; kRefused names the step.
  [[nodiscard]] Result<Program> program(const Recipe& recipe);

  /// What may follow `recipe`; empty when it does not replay.
  [[nodiscard]] const std::vector<Proposal>& proposals(const Recipe& recipe);

  /// The proposal at `prefix` that `step` is a choice of, or null.
  [[nodiscard]] const Proposal* proposal_of(const Recipe& prefix, const Step& step);

  [[nodiscard]] const RewriteContext& context() const { return context_; }

 private:
  struct Entry {
    Result<Program> program;
    std::unique_ptr<std::vector<Proposal>> proposals;
    std::list<std::string>::iterator age;
  };
  Entry& entry(const Recipe& recipe);

  static constexpr std::size_t kMaxEntries = 4096;
  RewriteContext context_;
  std::vector<std::string> disabled_;
  std::unordered_map<std::string, Entry> entries_;
  std::list<std::string> ages_;  // most recently used first
};

/// A key that is equal for equal recipes.
[[nodiscard]] std::string recipe_key(const Recipe& recipe);

}  // namespace hone
