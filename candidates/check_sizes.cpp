#include "candidates/check_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "candidates/program_detail.h"

namespace hone {
namespace {

constexpr std::int64_t kSmallElements = 1 << 17;  // of all buffers together
constexpr std::int64_t kSmallFlops = 8'000'000;   // an emulator runs about as many in a second
constexpr std::int64_t kSmallThreads = 1 << 17;   // of all launches together
constexpr std::int64_t kKeep = 16;  // a size this small is a radius, a stride or a count: keep it
constexpr std::int64_t kFewOuter = 5;  // in the odd variant 3
constexpr std::int64_t kLargest = 4096;
constexpr int kMaxTrials = 4000;

struct Fit {
  bool holds = false;
  bool small = false;
};

/// `effort`: of what is small.
Fit fit(const Task& task, const Bindings& sizes, double effort = 1) {
  Fit fit;
  if (broken_constraint(task, sizes)) return fit;
  const auto program = instantiate_placed(task.reference, sizes);
  if (!program) return fit;
  fit.holds = true;
  std::int64_t elements = 0, threads = 0;
  for (const ConcreteBuffer& buffer : program->buffers) {
    elements = std::min(elements + buffer.elements(), 2 * kSmallElements);
  }
  for (const ConcreteLaunch& launch : program->launches) {
    std::int64_t launched = 1;
    for (const Dim3* dimensions : {&launch.grid, &launch.block}) {
      for (const std::int64_t extent : *dimensions) {
        launched = std::min(launched, 2 * kSmallThreads) * std::min(extent, 2 * kSmallThreads);
      }
    }
    threads = std::min(threads + launched, 2 * kSmallThreads);
  }
  std::int64_t flops = 0;
  if (task.flops) flops = task.flops->eval(sizes).value_or(0);
  const auto within = [&](std::int64_t amount, std::int64_t limit) {
    return static_cast<double>(amount) <= effort * static_cast<double>(limit);
  };
  fit.small = within(elements, kSmallElements) && within(threads, kSmallThreads) &&
              within(flops, kSmallFlops);
  return fit;
}

using Grids = std::vector<Dim3>;

Grids grids_at(const Task& task, const Bindings& sizes) {
  Grids grids;
  if (const auto program = instantiate_placed(task.reference, sizes))
    for (const ConcreteLaunch& launch : program->launches) grids.push_back(launch.grid);
  return grids;
}

/// Has every dimension of every grid two blocks that has several at the timed sizes?
bool several_blocks(const Grids& timed, const Grids& here) {
  for (std::size_t i = 0; i < std::min(timed.size(), here.size()); ++i)
    for (std::size_t d = 0; d < 3; ++d)
      if (timed[i][d] > 1 && here[i][d] < 2) return false;
  return timed.size() == here.size();
}

Bindings clipped(const Bindings& sizes, std::int64_t cap) {
  Bindings out = sizes;
  for (auto& [name, value] : out) value = std::min(value, std::max(cap, std::min(value, kKeep)));
  return out;
}

// Sizes below kKeep are cut as well once nothing else gets small enough.
Bindings clipped_hard(const Bindings& sizes, std::int64_t cap) {
  Bindings out = sizes;
  for (auto& [name, value] : out) value = std::min(value, cap);
  return out;
}

/// Batches: the first one or two sizes of the result's shape, if the shape of every other buffer
/// that has one of them begins with the same sizes.
std::vector<std::string> outer_sizes(const Task& task) {
  const auto outer_of = [](const Buffer& buffer) {
    std::vector<std::string> outer;
    for (std::size_t i = 0; i < 2 && i + 2 < buffer.shape.size(); ++i)
      outer.push_back(buffer.shape[i].text());
    return outer;
  };
  const auto& buffers = task.reference.buffers;
  const auto result =
      std::ranges::find_if(buffers, [](const Buffer& buffer) { return is_output(buffer.role); });
  if (result == buffers.end()) return {};
  std::vector<std::string> outer = outer_of(*result);
  for (const Buffer& buffer : buffers) {
    std::set<std::string> names;
    for (const Expr& extent : buffer.shape) names.merge(extent.names());
    if (std::ranges::none_of(outer, [&](const auto& name) { return names.contains(name); }))
      continue;
    const std::vector<std::string> its = outer_of(buffer);
    outer.erase(std::ranges::mismatch(outer, its).in1, outer.end());
  }
  std::erase_if(outer, [&](const std::string& name) {
    const auto timed = task.sizes.find(name);
    const bool is_inner = std::ranges::any_of(buffers, [&](const Buffer& buffer) {
      const std::size_t first = outer_of(buffer).size();
      return std::ranges::any_of(buffer.shape.begin() + static_cast<std::ptrdiff_t>(first),
                                 buffer.shape.end(),
                                 [&](const Expr& extent) { return extent.names().contains(name); });
    });
    return timed == task.sizes.end() || timed->second <= kKeep || is_inner;
  });
  return outer;
}

// Values worth trying for one size, small first: divisors and powers of two of moderate size.
std::vector<std::int64_t> values_for(std::int64_t timed) {
  std::set<std::int64_t> values;
  for (std::int64_t power = kKeep; power <= std::min(timed, kLargest); power *= 2) {
    values.insert(power);
  }
  for (std::int64_t divisor = kKeep; divisor <= std::min(timed, kLargest); ++divisor) {
    if (timed % divisor == 0) values.insert(divisor);
  }
  if (timed <= kLargest) values.insert(timed);
  return {values.begin(), values.end()};
}

std::optional<Bindings> search(const Task& task) {
  std::vector<std::string> names;
  std::vector<std::vector<std::int64_t>> values;
  for (const auto& [name, timed] : task.sizes) {
    names.push_back(name);
    values.push_back(values_for(timed));
    if (values.back().empty()) return std::nullopt;
  }
  // Counts up like an odometer.
  std::vector<std::size_t> digits(names.size(), 0);
  for (int trial = 0; trial < kMaxTrials; ++trial) {
    Bindings sizes;
    for (std::size_t i = 0; i < names.size(); ++i) sizes[names[i]] = values[i][digits[i]];
    if (fit(task, sizes).holds) return sizes;
    std::size_t wheel = 0;
    while (wheel < digits.size() && ++digits[wheel] == values[wheel].size()) digits[wheel++] = 0;
    if (wheel == digits.size()) break;
  }
  return std::nullopt;
}

std::optional<Bindings> find_base(const Task& task) {
  for (const std::int64_t cap : {64, 48, 32, 24, 16}) {
    const Bindings sizes = clipped(task.sizes, cap);
    const Fit found = fit(task, sizes);
    if (found.holds && found.small) return sizes;
  }
  // Few of what is done alike, rather than little of each: tiles are larger than 12 x 12.
  if (const auto outer = outer_sizes(task); !outer.empty()) {
    for (const std::int64_t cap : {48, 32, 24, 16}) {
      Bindings sizes = clipped(task.sizes, cap);
      for (const std::string& name : outer) sizes[name] = kFewOuter;
      const Fit found = fit(task, sizes);
      if (found.holds && found.small) return sizes;
    }
  }
  for (const std::int64_t cap : {12, 8, 6, 4}) {
    const Bindings sizes = clipped_hard(task.sizes, cap);
    const Fit found = fit(task, sizes);
    if (found.holds && found.small) return sizes;
  }
  const auto clip = [&](std::int64_t from, std::int64_t to) -> std::optional<Bindings> {
    for (std::int64_t cap = from; cap <= to; cap *= 2) {
      const Bindings sizes = clipped(task.sizes, cap);
      if (fit(task, sizes).holds) return sizes;
    }
    return std::nullopt;
  };
  if (auto sizes = clip(64, 512)) return sizes;
  if (auto sizes = search(task)) return sizes;
  return clip(1024, kLargest);
}

// Off the powers of two, so that a kernel with a wrong edge is caught. One size at a time: a
// constraint may hold some of them.
Bindings odd_variant(const Task& task, const Bindings& base) {
  constexpr std::array<std::int64_t, 4> kOdd = {33, 65, 17, 49};
  Bindings sizes = base;
  std::size_t turn = 0;
  for (const auto& [name, value] : base) {
    if (value <= 4 || task.sizes.at(name) <= kKeep) continue;
    std::int64_t odd = value >= 64 ? kOdd[turn++ % kOdd.size()] : (value - 1) | 1;
    if (odd == value) odd -= 2;
    Bindings trial = sizes;
    trial[name] = std::min(odd, task.sizes.at(name));
    const Fit found = fit(task, trial);
    if (found.holds) sizes = trial;
  }
  return sizes;
}

std::vector<Bindings> with_odd_variant(const Task& task, Bindings base) {
  Bindings odd = odd_variant(task, base);
  std::vector<Bindings> sets{std::move(base)};
  if (odd != sets.front()) sets.push_back(std::move(odd));
  return sets;
}

/// The largest size gives way again and again, to its half where it can, until all is small.
/// `with_blocks`: no launch loses its second block.
std::optional<Bindings> shrunk(const Task& task, double effort, bool with_blocks) {
  const Grids timed = grids_at(task, task.sizes);
  const auto good = [&](const Bindings& sizes) {
    return fit(task, sizes).holds && (!with_blocks || several_blocks(timed, grids_at(task, sizes)));
  };
  Bindings sizes;
  for (std::int64_t cap = kKeep; cap <= kLargest && sizes.empty(); cap *= 2)
    if (Bindings trial = clipped(task.sizes, cap); good(trial)) sizes = std::move(trial);
  if (sizes.empty()) return std::nullopt;
  while (!fit(task, sizes, effort).small) {
    std::vector<std::pair<std::int64_t, std::string>> largest_first;
    for (const auto& [name, value] : sizes) largest_first.emplace_back(-value, name);
    std::ranges::sort(largest_first);
    const auto give_way = [&](const std::string& name, std::int64_t value) {
      for (const std::int64_t less : {value / 2, value * 3 / 4, value - 1}) {
        Bindings trial = sizes;
        trial[name] = less;
        if (less < 1 || !good(trial)) continue;
        sizes = std::move(trial);
        return true;
      }
      return false;
    };
    if (std::ranges::none_of(largest_first,
                             [&](const auto& one) { return give_way(one.second, -one.first); }))
      return std::nullopt;
  }
  return sizes;
}

}  // namespace

std::optional<BrokenConstraint> broken_constraint(const Task& task, const Bindings& sizes) {
  Bindings bindings = sizes;
  for (const auto& [name, values] : task.tunables) bindings[name] = values.front();
  for (std::size_t i = 0; i < task.constraints.size(); ++i) {
    const Expr& constraint = task.constraints[i];
    const auto value = constraint.eval(bindings);
    if (value && *value != 0) continue;
    if (!value) return BrokenConstraint{i, value.error().message};
    std::string values;
    for (const std::string& name : constraint.names()) {
      values += fmt::format("{}{} = {}", values.empty() ? "" : ", ", name, bindings[name]);
    }
    return BrokenConstraint{i, fmt::format("\"{}\" does not hold{}", constraint.text(),
                                           values.empty() ? "" : fmt::format(" with {}", values))};
  }
  return std::nullopt;
}

std::vector<Bindings> smaller_check_sizes(const Task& task, double effort, bool with_blocks) {
  auto base = shrunk(task, effort, with_blocks);
  if (!base) return {};
  return with_odd_variant(task, std::move(*base));
}

bool has_derived_check_sizes(const Task& task) {
  return !task.sizes.empty() && task.check_sizes == derive_check_sizes(task);
}

std::vector<Bindings> derive_check_sizes(const Task& task) {
  const auto base = find_base(task);
  if (!base) return {};
  return with_odd_variant(task, *base);
}

}  // namespace hone
