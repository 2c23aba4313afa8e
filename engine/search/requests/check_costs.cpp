#include "engine/search/requests/check_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "candidates/check_sizes.h"
#include "engine/search/requests/requests.h"

namespace hone {
namespace {

constexpr double kReference_s = kChosenCheck_s / 10;
// What looks small where nobody can be asked. So many operations take about kReference_s.
constexpr double kElements = 1 << 20, kThreads = 1 << 18, kFlops = 8e6;
/// Below this nobody is asked: what has more elements is too large whatever it does.
constexpr double kMostElements = 1 << 24;
constexpr std::int64_t kAlignments[] = {64, 32, 16, 8, 4, 2};
constexpr int kHalvings = 10;  // of the work, in search of sizes that are small enough

double elements_of(const ConcreteProgram& program) {
  double elements = 0;
  for (const ConcreteBuffer& buffer : program.buffers)
    elements += static_cast<double>(buffer.elements());
  return elements;
}

double threads_of(const ConcreteProgram& program) {
  double threads = 0;
  for (const ConcreteLaunch& launch : program.launches) {
    double product = 1;
    for (const Dim3* dimensions : {&launch.grid, &launch.block})
      for (const std::int64_t extent : *dimensions) product *= static_cast<double>(extent);
    threads += product;
  }
  return threads;
}

}  // namespace

std::string sizes_text(const Bindings& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

const Survey& CheckCosts::at(const Bindings& sizes) {
  const auto [place, is_new] = known_.try_emplace(sizes);
  if (!is_new || !ask_) return place->second;
  const auto program = instantiate(task_.reference, sizes);
  if (!program) return place->second;
  if (auto surveys = ask_({*program}); surveys && surveys->size() == 1)
    place->second = std::move(surveys->front());
  return place->second;
}

CheckCosts::Work CheckCosts::work_of(const ConcreteProgram& program, const Bindings& sizes) const {
  Work work{.elements = elements_of(program), .threads = threads_of(program)};
  if (task_.flops) work.flops = static_cast<double>(task_.flops->eval(sizes).value_or(0));
  return work;
}

/// In itself, and beside the largest size of which it is known what it takes: a naive kernel may do
/// far more than its operations.
bool CheckCosts::looks_small(const Work& work) const {
  if (work.elements > kElements || work.threads > kThreads || work.flops > kFlops) return false;
  const Survey* largest = nullptr;
  const Bindings* there = nullptr;
  for (const auto& [sizes, survey] : known_) {
    if (!survey.known || (largest != nullptr && survey.units <= largest->units)) continue;
    largest = &survey;
    there = &sizes;
  }
  if (largest == nullptr) return true;
  const auto program = instantiate(task_.reference, *there);
  if (!program) return true;
  const Work known = work_of(*program, *there);
  const auto times = [](double here, double other) { return other > 0 ? here / other : 0; };
  const double growth =
      std::max({times(work.elements, known.elements), times(work.threads, known.threads),
                times(work.flops, known.flops)});
  return growth * largest->nominal_s() <= kReference_s;
}

bool CheckCosts::affordable(const Bindings& sizes) {
  const auto program = instantiate(task_.reference, sizes);
  if (program && elements_of(*program) > kMostElements) return false;
  const Survey& survey = at(sizes);
  if (survey.known) return survey.nominal_s() <= kReference_s;
  return !program || looks_small(work_of(*program, sizes));  // whoever checks there will say why
}

std::vector<Bindings> affordable_check_sizes(const Task& task, CheckCosts& costs) {
  const auto good = [&](const std::vector<Bindings>& all) {
    return std::ranges::all_of(all, [&](const Bindings& one) { return costs.affordable(one); });
  };
  if (!has_derived_check_sizes(task) || good(task.check_sizes)) return task.check_sizes;
  for (const bool with_blocks : {true, false}) {
    double effort = 0.5;
    for (int i = 0; i < kHalvings; ++i, effort /= 2)
      if (auto smaller = smaller_check_sizes(task, effort, with_blocks);
          !smaller.empty() && good(smaller))
        return smaller;
  }
  return task.check_sizes;
}

std::vector<std::string> slow_check_sizes(const Task& task, CheckCosts& costs) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < task.check_sizes.size(); ++i) {
    const Survey& survey = costs.at(task.check_sizes[i]);
    if (!survey.known || survey.nominal_s() <= kChosenCheck_s) continue;
    lines.push_back(fmt::format(
        "check_sizes[{}] ({}) is slow: emulating the reference there takes about {:.1f} s, by some "
        "of its blocks, and every candidate is checked there; with a {:.0f}th of the work it would "
        "take less than {:.0f} s",
        i, sizes_text(task.check_sizes[i]), std::max(survey.seconds, survey.nominal_s()),
        std::ceil(survey.nominal_s() / kChosenCheck_s), kChosenCheck_s));
  }
  return lines;
}

Bindings affordable_aligned_sizes(const Task& task, const Bindings& check, CheckCosts& costs) {
  std::int64_t most = 1;
  Bindings sizes = check;
  for (const std::int64_t alignment : kAlignments) {
    sizes = aligned_sizes(check, task.sizes, alignment);
    most = alignment;
    if (costs.affordable(sizes)) break;
    most = 1;
  }
  if (most == 1) return check;
  if (most == kAlignments[0]) return sizes;
  // Too much for all at once: further for one size after the other, as far as there is room.
  for (const auto& [name, value] : check) {
    Bindings trial = sizes;
    trial[name] = aligned_sizes({{name, value}}, task.sizes, kAlignments[0]).at(name);
    if (trial != sizes && costs.affordable(trial)) sizes = std::move(trial);
  }
  return sizes;
}

}  // namespace hone
