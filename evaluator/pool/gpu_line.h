// Who waits for a GPU, and who of them has the next turn. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace hone {

class GpuLine {
 public:
  using Clock = std::chrono::steady_clock;

  struct Priority {
    double modelled = 0;      ///< times what the reference takes; 0: not known
    std::uint64_t order = 0;  ///< of EvaluationRequest; the lowest first
    double run_s = 0;         ///< how long one run may take by the time model [s]; 0: not known
    std::string reference;    ///< the reference's key
  };

  /// Runs of more than this are long [s]: who has one gives others a fifth of it to come first, at
  /// most kMostGrace.
  static constexpr double kLong = 0.2;
  static constexpr double kGrace = 0.2, kMostGrace = 0.5;
  /// Times the fastest of the same reference that waits, by the model: a long run that is slower is
  /// served after all of those, or when it has waited for kPatience [s].
  static constexpr double kFar = 3, kPatience = 5;

  /// Joins the line; the number by which the others know it. `idle`: others' coming first costs
  /// nothing, as there are more GPUs that are free.
  std::uint64_t join(const Priority& priority, Clock::time_point now, bool idle = false);
  void leave(std::uint64_t number) { line_.erase(number); }
  /// Leaves with a turn.
  void take(std::uint64_t number);

  /// Whose turn it is. In turns: what the time model expects to be fastest, beside its reference,
  /// of which those go first whom nobody modelled; and whoever was asked for first, but for long
  /// runs that are far slower than another's. None: nobody waits, or all are to wait a little
  /// longer.
  [[nodiscard]] std::optional<std::uint64_t> next(Clock::time_point now) const;
  /// Before then it is not its turn.
  [[nodiscard]] Clock::time_point ready(std::uint64_t number) const;

  /// After so long a turn may come though nobody left.
  [[nodiscard]] static Clock::duration patience();

  [[nodiscard]] std::size_t size() const { return line_.size(); }

 private:
  struct Waiting {
    Priority priority;
    Clock::time_point ready;
    Clock::time_point joined;
  };
  std::map<std::uint64_t, Waiting> line_;  ///< by who came first
  std::uint64_t came_ = 0;
  std::uint64_t turns_ = 0;  ///< that were taken
};

}  // namespace hone
