// The search space of one task: which program a recipe yields at the timed sizes, and which steps
// may follow it. Asks a Rewriting and caches both by recipe. Not thread-safe: the search thread
// owns it.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "candidates/recipe.h"
#include "candidates/result.h"
#include "engine/rewriting/rewriting.h"
#include "rewriters/core/rewriter.h"

namespace hone {

/// What the spaces of one search keep, together [B]. The size of a program is the user's.
struct SpaceMemory {
  static constexpr std::size_t kLimit = 256U << 20;
  std::atomic<std::size_t> bytes = 0;
};

struct SpaceOptions {
  std::vector<std::string> disabled;    ///< rewriters that propose nothing
  bool hashes = false;                  ///< hash() will be asked for
  std::shared_ptr<SpaceMemory> memory;  ///< shared with other spaces; null: its own
};

class Space {
 public:
  /// `rewriting`, `context.task` and `context.sizes` (the timed ones) must outlive the space.
  Space(Rewriting& rewriting, RewriteContext context, SpaceOptions options = {});
  ~Space();
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;

  /// Replays at the timed sizes; kRefused names the step.
  [[nodiscard]] Result<Program> program(const Recipe& recipe);

  /// Structural hash of the same program, where the options ask for hashes.
  [[nodiscard]] Result<std::string> hash(const Recipe& recipe);

  /// What may follow `recipe`; empty when it does not replay. Valid until the next question.
  [[nodiscard]] const std::vector<Proposal>& proposals(const Recipe& recipe);

  /// The proposal at `prefix` that `step` is a choice of, or null. Valid as long.
  [[nodiscard]] const Proposal* proposal_of(const Recipe& prefix, const Step& step);

  [[nodiscard]] const RewriteContext& context() const { return context_; }

 private:
  struct Entry {
    Result<Rewritten> rewritten;
    std::optional<std::vector<Proposal>> proposals;
    std::size_t bytes = 0;
    std::list<std::string>::iterator age;
  };
  Entry& entry(const Recipe& recipe);
  void grow(Entry& entry, std::size_t bytes);
  void erase_oldest();

  static constexpr std::size_t kMaxEntries = 4096;
  Rewriting& rewriting_;
  RewriteContext context_;
  SpaceOptions options_;
  std::unordered_map<std::string, Entry> entries_;
  std::list<std::string> ages_;  // most recently used first
  // Answers that are no answers, such as "cancelled", are given and not kept.
  std::optional<Entry> passing_;
  std::vector<Proposal> none_;
};

/// A key that is equal for equal recipes.
[[nodiscard]] std::string recipe_key(const Recipe& recipe);

}  // namespace hone
