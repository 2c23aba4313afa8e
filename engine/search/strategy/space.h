// The search space of one task: which program a recipe yields at the timed sizes, and which steps
// may follow it. Asks a Rewriting, once for each program and step: recipes that meet in one program
// share what comes after it.
//
//   {} ── a ──► P ── b ──► R ── c ──► S        a;b;c and b;a;c are two recipes and one program:
//    └─── b ──► Q ── a ──► R                   c is applied once
//
// Thread-safe: questions of several threads go to the Rewriting side by side.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
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

  /// A further rewriter that proposes nothing, from the next question on. Nobody may be asking.
  void disable(std::string rewriter);

  /// Replays at the timed sizes; kRefused names the step. With the structural hash where the
  /// options ask for hashes.
  [[nodiscard]] Result<Rewritten> rewritten(const Recipe& recipe);

  /// Likewise, the program alone.
  [[nodiscard]] Result<Program> program(const Recipe& recipe);

  [[nodiscard]] bool replays(const Recipe& recipe) { return entry(recipe)->rewritten.has_value(); }

  using Proposals = std::shared_ptr<const std::vector<Proposal>>;
  /// What may follow `recipe`; empty when it does not replay. Never null.
  [[nodiscard]] Proposals proposals(const Recipe& recipe);

  /// The proposal at `prefix` that `step` is a choice of.
  [[nodiscard]] std::optional<Proposal> proposal_of(const Recipe& prefix, const Step& step);

  [[nodiscard]] const RewriteContext& context() const { return context_; }

 private:
  /// A program, or why there is none.
  struct Entry {
    Result<Rewritten> rewritten;                                 ///< never changes
    Proposals proposals;                                         ///< null: nobody asked yet
    std::unordered_map<std::string, std::weak_ptr<Entry>> next;  ///< by the step
    std::string text;       ///< its key in texts_; empty: there is no program
    std::size_t bytes = 0;  ///< of all that it keeps; 0: it is not kept
    std::list<std::shared_ptr<Entry>>::iterator age;
  };
  using EntryPtr = std::shared_ptr<Entry>;
  [[nodiscard]] EntryPtr entry(const Recipe& recipe);
  [[nodiscard]] Result<Rewritten> reference();
  [[nodiscard]] Result<Rewritten> applied(const Program& program, const Step& step);
  // The lock is held in all of these.
  [[nodiscard]] EntryPtr known_after(const Entry& entry, const std::string& step) const;
  [[nodiscard]] EntryPtr kept(Result<Rewritten> rewritten, std::string text);
  void use(const std::vector<EntryPtr>& way);
  void grow(Entry& entry, std::size_t bytes);
  void erase_oldest();

  static constexpr std::size_t kMaxEntries = 16384;
  Rewriting& rewriting_;
  const RewriteContext context_;
  SpaceOptions options_;
  std::mutex mutex_;  ///< of what follows, never held while the Rewriting is asked
  EntryPtr root_;     ///< the reference, which is kept; null: nobody asked yet
  std::unordered_map<std::string, std::weak_ptr<Entry>> texts_;  ///< by a hash of the whole program
  std::list<EntryPtr> ages_;  ///< all others, most recently used first
};

/// A key that is equal for equal recipes.
[[nodiscard]] std::string recipe_key(const Recipe& recipe);

}  // namespace hone
