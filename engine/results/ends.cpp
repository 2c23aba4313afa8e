#include "engine/results/ends.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace hone::results {
namespace {

/// What became of `count` programs of those that seemed faster, for two and more and for one.
class Ways {
 public:
  explicit Ways(int all) : all_(all) {}
  void add(int count, std::string_view several, std::string_view one, std::string more) {
    if (count <= 0) return;
    told_.push_back(fmt::format("{} {}{}", all_ == 1 ? "it" : std::to_string(count),
                                count == 1 ? one : several, std::move(more)));
  }
  [[nodiscard]] std::string text() const { return fmt::format("{}", fmt::join(told_, "; ")); }

 private:
  int all_;
  std::vector<std::string> told_;
};

std::string reason(int count, const std::string& first) {
  return first.empty() ? "" : fmt::format("{}: {}", count > 1 ? ", the first" : "", first);
}

}  // namespace

std::string ends_text(const SearchOutcome& outcome) {
  const FinalEnds& ends = outcome.ends;
  const int all = outcome.seemed_faster;
  const bool confirmed =
      !outcome.ranked.empty() && !outcome.ranked.front().candidate.recipe.empty();
  if (all == 0 || ends.faster > 0 || confirmed) return "";
  const bool may_ask_for_more = outcome.stop_reason != StopReason::kInterrupted;
  const std::string unchecked = "could not be checked", others = "did not come to the final stage";
  Ways ways(all);
  ways.add(ends.failed, "failed their checks", "failed its checks",
           reason(ends.failed, ends.why_failed));
  ways.add(ends.no_faster, "were no faster when timed again", "was no faster when timed again", "");
  ways.add(ends.unchecked, unchecked, unchecked, reason(ends.unchecked, ends.why_unchecked));
  ways.add(ends.late, "were not checked in time", "was not checked in time",
           may_ask_for_more ? ": a longer budget leaves more time for that" : "");
  ways.add(all - ends.failed - ends.no_faster - ends.unchecked - ends.late, others, others, "");
  if (all == 1)
    return fmt::format("one program seemed faster ({:.2f} times), and was not confirmed: {}",
                       outcome.seemed_speedup, ways.text());
  return fmt::format(
      "{} programs seemed faster (the best {:.2f} times), and none was confirmed: {}", all,
      outcome.seemed_speedup, ways.text());
}

}  // namespace hone::results
