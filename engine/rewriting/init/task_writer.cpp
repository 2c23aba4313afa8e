#include "engine/rewriting/init/task_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "candidates/task_reader.h"
#include "engine/rewriting/init/cost.h"
#include "engine/rewriting/init/writer.h"

namespace hone::init {
namespace {

using syntax::HostInt;
using Json = nlohmann::ordered_json;

constexpr double kShortest_us = 100;              // of one run: less is mostly overhead
constexpr std::int64_t kMostBytes = 2LL << 30;    // of all buffers, when sizes grow
constexpr std::int64_t kMostChecked = 1LL << 21;  // elements and threads at a check size

}  // namespace

bool Writer::holds(const Values& at, std::int64_t most) const {
  for (const auto& [a, b] : divisions_) {
    const auto x = sizes_.value(a, at);
    const auto y = sizes_.value(b, at);
    if (!x || !y || *y == 0 || *x % *y != 0) return false;
  }
  for (const BufferPlan& buffer : buffers_) {
    const auto length = sizes_.value(buffer.elements, at);
    if (!length || *length < 1 || *length > most) return false;
  }
  for (const LaunchPlan& launch : launches_) {
    std::int64_t threads = 1;
    for (int d = 0; d < 3; ++d) {
      const auto extent = sizes_.value(launch.grid[d], at);
      if (!extent || *extent < 1 || *extent > (d == 0 ? 2147483647 : 65535)) return false;
      threads *= *extent * launch.block[d]->value;
      if (threads > most * 16) return false;
    }
    if (threads > most) return false;
  }
  return true;
}

/// Every size a little over or under one or two blocks, or a multiple of `multiple`.
std::optional<Writer::Values> Writer::check_values(std::int64_t multiple, int round) const {
  std::int64_t block = 1;
  bool products = false;
  for (const LaunchPlan& launch : launches_)
    for (const HostInt& extent : launch.block) block = std::max(block, extent->value);
  for (const BufferPlan& buffer : buffers_)
    products = products || sizes_.names_in(buffer.elements).size() > 1;
  for (std::int64_t g = std::max<std::int64_t>(1, multiple); g <= 65536; g *= 2) {
    for (const std::int64_t want : {products ? std::min<std::int64_t>(2 * block, 64) : 2 * block,
                                    std::int64_t{24}, std::int64_t{6}, std::int64_t{1}}) {
      Values values;
      std::int64_t i = 0;
      for (const std::string& name : sizes_.all()) {
        std::int64_t value =
            round == 0 ? want + 5 + 2 * i : std::max<std::int64_t>(1, want - 1 + i);
        value = std::max<std::int64_t>(1, g == 1 ? value : value / g + (round == 0 ? 1 : 0)) * g;
        values[name] = std::min(value, std::max(timed_.at(name), g));
        ++i;
      }
      if (holds(values, kMostChecked)) return values;
    }
  }
  return std::nullopt;
}

double Writer::bytes_at(const Values& at) const {
  double bytes = 0;
  for (const BufferPlan& buffer : buffers_) {
    const auto length = sizes_.value(buffer.elements, at);
    if (length) bytes += static_cast<double>(*length) * static_cast<double>(size_of(buffer.type));
  }
  return bytes;
}

/// Of `movers`, those that a launch of fixed extent bounds: with more elements it would read a part
/// of a buffer, and the task would compute something else.
std::set<std::string> Writer::held_sizes(const std::set<std::string>& movers,
                                         std::vector<std::string>& notes) const {
  std::set<std::string> held;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const LaunchPlan& launch = launches_[i];
    const auto& parameters = stages_[i].kernel.parameters;
    std::set<std::string> followed;
    for (const HostInt& extent : launch.grid) followed.merge(sizes_.names_in(extent));
    if (!followed.empty()) continue;
    for (std::size_t a = 0; a < launch.args.size() && a < parameters.size(); ++a)
      if (parameters[a].ends_loops) followed.merge(sizes_.names_in(launch.args[a].integer));
    for (std::size_t a = 0; a < launch.args.size() && a < parameters.size(); ++a) {
      if (launch.args[a].buffer < 0 || !parameters[a].read) continue;
      const BufferPlan& buffer = buffers_[static_cast<std::size_t>(launch.args[a].buffer)];
      for (const std::string& name : sizes_.names_in(buffer.elements)) {
        if (!movers.contains(name) || followed.contains(name) || !held.insert(name).second)
          continue;
        notes.push_back(
            fmt::format("size {}: {} is kept, since with more {}, whose grid is fixed, would not "
                        "read all of {}",
                        name, timed_.at(name), stages_[i].launch->plain, buffer.name));
      }
    }
  }
  return held;
}

void Writer::grow(Values& timed, std::vector<std::string>& notes) {
  const auto cost = [&](const Values& at) {
    std::vector<std::string> ignored;
    const Json task = task_at(at, {}, {}, {}, ignored);
    const std::string text = "/* hone " + task.dump() + " */\n" + unit_.device.text;
    return estimated_us(text, path_);
  };
  const Values before = timed;
  auto time = cost(timed);
  std::set<std::string> movers;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const LaunchPlan& launch = launches_[i];
    for (const HostInt& extent : launch.grid) movers.merge(sizes_.names_in(extent));
    const auto& parameters = stages_[i].kernel.parameters;
    for (std::size_t a = 0; a < launch.args.size() && a < parameters.size(); ++a)
      if (parameters[a].ends_grid_loops) movers.merge(sizes_.names_in(launch.args[a].integer));
  }
  const std::set<std::string> moved = movers;
  const std::set<std::string> held = held_sizes(moved, notes);
  for (const std::string& name : held) movers.erase(name);
  for (int round = 0; time && *time < kShortest_us && !movers.empty() && round < 40; ++round) {
    // The smallest of those that widen the grid: matrices stay about square.
    const std::string name = *std::ranges::min_element(
        movers, {}, [&](const std::string& one) { return timed.at(one); });
    Values next = timed;
    next[name] *= 2;
    const auto more =
        bytes_at(next) <= static_cast<double>(kMostBytes) && holds(next, std::int64_t{1} << 40)
            ? cost(next)
            : std::nullopt;
    if (!more) {
      movers.erase(name);
      continue;
    }
    timed = next;
    time = more;
  }
  std::vector<std::string> grown;
  for (const auto& [name, value] : timed)
    if (value != before.at(name) && !sizes_.guessed(name))
      grown.push_back(fmt::format("{} = {} (the file says {})", name, value, before.at(name)));
  for (const auto& [name, value] : timed)
    if (sizes_.guessed(name))
      notes.push_back(fmt::format("size {}: nothing in the file says its value ({}); {} is a guess",
                                  name, sizes_.place(name), value));
  if (!grown.empty())
    notes.push_back(fmt::format("made larger, to take about {:.0f} us and more: {}", kShortest_us,
                                fmt::join(grown, ", ")));
  if (time && *time < kShortest_us) {
    std::vector<std::string> left;
    for (const std::string& name : sizes_.all())
      if (!moved.contains(name) && !held.contains(name)) left.push_back(name);
    std::string why = "at the largest sizes that fit";
    if (sizes_.all().empty()) {
      why = "at the sizes that the source fixes";
    } else if (!left.empty()) {
      why = fmt::format(
          "and larger values of {} were not tried: neither the grid nor a loop over it follows "
          "them",
          fmt::join(left, ", "));
    } else if (!held.empty()) {
      why = "at the sizes that are kept";
    }
    notes.push_back(fmt::format("one run takes about {:.1f} us, less than {:.0f} us, {}", *time,
                                kShortest_us, why));
  }
}

std::int64_t Writer::coarse_multiple() const {
  std::int64_t multiple = 1;
  for (const LaunchPlan& launch : launches_)
    for (const HostInt& extent : launch.block) multiple = std::max(multiple, extent->value);
  std::int64_t power = 1;
  while (power < multiple) power *= 2;
  return power;
}

/// The file's own sizes, halved together until they are small.
std::optional<Writer::Values> Writer::file_values() const {
  Values values = sizes_.timed();
  for (int i = 0; i < 30; ++i) {
    if (holds(values, kMostChecked)) return values;
    for (auto& [name, value] : values) {
      if (value % 2 != 0) return std::nullopt;
      value /= 2;
    }
  }
  return std::nullopt;
}

InitResult::Attempt Writer::attempt(Checks kind, const Guesses& guesses) const {
  InitResult::Attempt result;
  result.notes = notes_;
  std::set<std::string> constraints = constraints_;
  const std::int64_t multiple =
      kind == Checks::kMultiples || kind == Checks::kEqual ? coarse_multiple() : 1;
  if (multiple > 1 && !sizes_.all().empty()) {
    for (const std::string& name : sizes_.all())
      if (timed_.at(name) % multiple == 0)
        constraints.insert(fmt::format("{} % {} == 0", name, multiple));
    result.notes.push_back(fmt::format(
        "sizes are kept multiples of {}: the kernel has no guard for others", multiple));
  }
  std::vector<Values> checks;
  if (kind == Checks::kAsTheFile) {
    if (const auto values = file_values()) {
      checks.push_back(*values);
      for (const auto& [name, value] : *values)
        if (value > 1 && timed_.at(name) % value == 0)
          constraints.insert(fmt::format("{} % {} == 0", name, value));
      result.notes.emplace_back(
          "check_sizes: the file's own, or these halved; the kernel does not hold at others");
    }
  } else {
    for (const int round : {0, 1}) {
      auto values = check_values(multiple, round);
      if (values && kind == Checks::kEqual) {
        const std::int64_t least =
            std::ranges::min_element(*values, {}, [](const auto& v) { return v.second; })->second;
        for (auto& [name, value] : *values) value = least;
        if (!holds(*values, kMostChecked)) values = std::nullopt;
      }
      if (values && std::ranges::find(checks, *values) == checks.end()) checks.push_back(*values);
    }
  }
  if (kind == Checks::kEqual) {
    const std::string& first = sizes_.all().front();
    for (const std::string& name : sizes_.all())
      if (name != first && timed_.at(name) == timed_.at(first))
        constraints.insert(fmt::format("{} == {}", name, first));
    result.notes.emplace_back("sizes are kept equal: the kernel does not hold for others");
  }
  result.task = task_at(timed_, checks, constraints, guesses, result.notes);
  if (checks.empty() && !sizes_.all().empty()) {
    // Those that every reader of the task takes instead.
    const auto task =
        parse_task("/* hone " + result.task.dump() + " */\n" + unit_.device.text, path_);
    std::vector<std::string> derived;
    for (const Bindings& at : task ? task->check_sizes : std::vector<Bindings>{}) {
      std::vector<std::string> one;
      for (const auto& [name, value] : at) one.push_back(fmt::format("{} = {}", name, value));
      derived.push_back(fmt::format("{}", fmt::join(one, ", ")));
    }
    result.notes.push_back(
        derived.empty()
            ? "check_sizes: no small sizes were found that hold everything; give some"
            : fmt::format("check_sizes: none is given, since all that hold everything are large; "
                          "`hone` takes {}",
                          fmt::join(derived, "; ")));
  }
  return result;
}

Result<InitResult> Writer::run() {
  for (const Stage& stage : stages_)
    if (auto planned = plan_launch(stage); !planned) return std::unexpected(planned.error());
  settle_sizes();
  grow(timed_, notes_);
  InitResult result;
  result.source = unit_.device.text;
  const bool guarded =
      std::ranges::any_of(stages_, [](const Stage& stage) { return stage.kernel.compares_index; });
  const bool has_sizes = !sizes_.all().empty();
  std::vector<Checks> kinds = {Checks::kOdd};
  if (has_sizes) {
    kinds.insert(guarded ? kinds.end() : kinds.begin(), Checks::kMultiples);
    kinds.push_back(Checks::kAsTheFile);
    std::set<std::int64_t> values;
    for (const auto& [name, value] : timed_) values.insert(value);
    if (sizes_.all().size() > 1 && values.size() == 1) kinds.push_back(Checks::kEqual);
  }
  using Roles = Guesses::Roles;
  std::vector<Guesses> all_guesses;
  for (const bool permutations : {true, false})
    for (const Roles roles : {Roles::kBold, Roles::kPlain, Roles::kCareful})
      all_guesses.push_back({roles, permutations});
  for (const Checks kind : kinds) {
    for (const Guesses& guesses : all_guesses) {
      InitResult::Attempt one = attempt(kind, guesses);
      const bool known = std::ranges::any_of(
          result.attempts, [&](const auto& other) { return other.task == one.task; });
      if (!known) result.attempts.push_back(std::move(one));
    }
  }
  return result;
}

Result<InitResult> write_task(const std::string& path, syntax::WholeUnit& unit,
                              const std::vector<Stage>& stages, std::vector<std::string> notes) {
  return Writer(path, unit, stages, std::move(notes)).run();
}

}  // namespace hone::init
