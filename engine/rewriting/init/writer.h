// The task that `hone init` writes, while it is made: what the launches pass (task_plan.cpp), what
// JSON that is (task_json.cpp), at which sizes (task_writer.cpp). For these three alone.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/rewriting/init/init_task.h"
#include "engine/rewriting/init/pipeline.h"
#include "engine/rewriting/init/signature.h"
#include "engine/rewriting/init/sizes.h"

namespace hone::init {

class Writer {
 public:
  Writer(const std::string& path, syntax::WholeUnit& unit, const std::vector<Stage>& stages,
         std::vector<std::string> notes)
      : path_(path),
        unit_(unit),
        stages_(stages),
        notes_(std::move(notes)),
        sizes_(unit.facts.names) {}

  Result<InitResult> run();

 private:
  using Values = std::map<std::string, std::int64_t>;
  /// How the check sizes are chosen, from the boldest.
  enum class Checks { kOdd, kMultiples, kEqual, kAsTheFile };
  struct Guesses {
    /// What a buffer that is written is: out, also where the kernel reads what it wrote before;
    /// inout where it is read; inout.
    enum class Roles { kBold, kPlain, kCareful } roles = Roles::kCareful;
    bool permutations = false;  ///< indices that the kernel stores at
  };
  struct BufferPlan {
    std::string name;
    int host = -1;           ///< index into the host's buffers; -1: unknown to it
    syntax::HostInt offset;  ///< [B] into it
    ScalarType type = ScalarType::kF32;
    syntax::HostInt elements;
    bool guessed_length = false;
    bool read_first = false;     ///< by the first launch that uses it
    bool written_first = false;  ///< by it, before it reads, as far as the text shows
    bool read = false;
    bool written = false;
    bool wants_positive = false;
    bool sorted = false;              ///< row starts
    std::vector<int> indexes;         ///< buffers into which its values point; -1: unknown
    std::vector<int> scattered_into;  ///< of these, those that are stored into without atomics
    std::string parameter;
    std::string place;
  };
  struct ArgumentPlan {
    int buffer = -1;
    syntax::HostInt integer;
    std::optional<double> real;
  };
  struct LaunchPlan {
    std::string kernel;
    syntax::HostInt grid[3];
    syntax::HostInt block[3];
    syntax::HostInt shared;
    std::vector<ArgumentPlan> args;
  };

  // task_plan.cpp: what the launches pass and need
  Result<void> plan_launch(const Stage& stage);
  Result<int> plan_buffer(const Stage& stage, std::size_t index);
  syntax::HostInt guessed_integer(const std::string& name);
  syntax::HostInt product(const Stage& stage, const LaunchPlan& plan, const Product& names);
  void plan_lengths(const Stage& stage, const LaunchPlan& plan);
  void plan_geometry(const Stage& stage, LaunchPlan& plan);
  void settle_sizes();
  void note_fixed_guesses();

  // task_json.cpp: the task as JSON, at given sizes
  std::string role_of(const BufferPlan& buffer, Guesses::Roles roles,
                      std::vector<std::string>& notes) const;
  nlohmann::ordered_json fill_of(const BufferPlan& buffer,
                                 const std::vector<std::map<std::string, std::int64_t>>& all,
                                 bool permutations, std::vector<std::string>& notes) const;
  bool takes_permutation(const BufferPlan& buffer) const;
  void note_default_fills(const std::vector<const BufferPlan*>& buffers,
                          std::vector<std::string>& notes) const;
  nlohmann::ordered_json task_at(const Values& timed, const std::vector<Values>& checks,
                                 const std::set<std::string>& constraints, const Guesses& guesses,
                                 std::vector<std::string>& notes) const;

  // task_writer.cpp: which sizes, and how boldly
  bool holds(const Values& at, std::int64_t most) const;
  std::optional<Values> check_values(std::int64_t multiple, int round) const;
  InitResult::Attempt attempt(Checks kind, const Guesses& guesses) const;
  std::optional<Values> file_values() const;
  std::set<std::string> held_sizes(const std::set<std::string>& movers,
                                   std::vector<std::string>& notes) const;
  void grow(Values& timed, std::vector<std::string>& notes);
  double bytes_at(const Values& at) const;
  std::int64_t coarse_multiple() const;

  const std::string path_;
  syntax::WholeUnit& unit_;
  const std::vector<Stage>& stages_;
  std::vector<std::string> notes_;
  Sizes sizes_;
  std::vector<BufferPlan> buffers_;
  std::vector<LaunchPlan> launches_;
  Values timed_;
  std::set<std::string> constraints_;
  std::vector<std::pair<syntax::HostInt, syntax::HostInt>> divisions_;
};

}  // namespace hone::init
