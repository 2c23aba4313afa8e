#include "engine/llm/tried.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rewriters/llm/model_steps.h"
#include "rewriters/llm/prompt/exemplars.h"

namespace hone::llm {

std::string bound_text(const Evaluation& evaluation) {
  const Measurement& m = evaluation.measurement;
  std::string text;
  if (!m.bound.empty())
    text += fmt::format("{}bound by {}\n", m.modelled ? "modelled as " : "", m.bound);
  if (m.roof_fraction > 0)
    text += fmt::format("{:.0f} % of the roof (what the hardware can do at most)\n",
                        100 * m.roof_fraction);
  for (const KernelResources& kernel : evaluation.resources) {
    text += fmt::format(
        "{}: {} registers a thread, {} bytes spilled, {} bytes of static shared memory",
        kernel.kernel, kernel.registers, kernel.spill_bytes, kernel.static_shared_bytes);
    if (kernel.occupancy > 0) text += fmt::format(", occupancy {:.0f} %", 100 * kernel.occupancy);
    text += '\n';
  }
  return text;
}

bool can_be_mended(Verdict verdict) {
  return verdict != Verdict::kOk && verdict != Verdict::kCrash && verdict != Verdict::kSlower;
}

Tried tried_of(const Recipe& recipe, const Evaluation& evaluation) {
  const Measurement& measurement = evaluation.measurement;
  return {.recipe = recipe,
          .verdict = evaluation.verdict,
          .detail = evaluation.detail,
          .time_us = measurement.time_us,
          .speedup = measurement.speedup,
          .modelled = measurement.modelled,
          .bound = bound_text(evaluation)};
}

Tried tried_reference(const Evaluation& admitted, bool modelled) {
  Tried reference = tried_of({}, admitted);
  reference.speedup = 1;
  reference.modelled = modelled;
  return reference;
}

TriedSet::TriedSet(Tried reference) { right_.push_back(std::move(reference)); }

void TriedSet::add(Tried tried) {
  const std::lock_guard lock(mutex_);
  if (tried.verdict == Verdict::kOk && tried.time_us > 0) {
    add_right(std::move(tried));
  } else if (can_be_mended(tried.verdict)) {
    add_failed(std::move(tried));
  }
}

void TriedSet::add_right(Tried tried) {
  const auto place = std::ranges::upper_bound(right_, tried.time_us, {}, &Tried::time_us);
  right_.insert(place, std::move(tried));
  if (right_.size() <= kMost) return;
  // The one goes that says least beside its neighbours; neither the fastest nor the slowest.
  std::size_t least = 1;
  double closest = 1e300;
  for (std::size_t i = 1; i + 1 < right_.size(); ++i) {
    const double apart = std::log(right_[i + 1].time_us / right_[i - 1].time_us);
    if (apart >= closest) continue;
    closest = apart;
    least = i;
  }
  right_.erase(right_.begin() + static_cast<std::ptrdiff_t>(least));
}

/// A model's own mistakes teach it most: others go first.
void TriedSet::add_failed(Tried tried) {
  failed_.push_front(std::move(tried));
  if (failed_.size() <= kMostFailed) return;
  const auto rules = std::find_if(failed_.rbegin(), failed_.rend(), [](const Tried& failed) {
    return !has_model_step(failed.recipe);
  });
  failed_.erase(rules == failed_.rend() ? std::prev(failed_.end()) : std::prev(rules.base()));
}

Tried TriedSet::best() const {
  const std::lock_guard lock(mutex_);
  return right_.front();
}

std::vector<Tried> TriedSet::examples(std::size_t count, std::uint64_t seed) const {
  const std::lock_guard lock(mutex_);
  std::vector<Tried> examples;
  if (count == 0) return examples;
  if (!failed_.empty()) {
    std::vector<const Tried*> models;
    for (const Tried& failed : failed_)
      if (has_model_step(failed.recipe)) models.push_back(&failed);
    examples.push_back(models.empty() ? failed_[seed % failed_.size()]
                                      : *models[seed % models.size()]);
  }
  std::vector<double> times;
  for (std::size_t i = 1; i < right_.size(); ++i) times.push_back(right_[i].time_us);
  std::vector<std::size_t> chosen = llm::choose_exemplars(times, count - examples.size(), seed);
  std::ranges::sort(chosen, std::greater());
  for (const std::size_t i : chosen) examples.push_back(right_[i + 1]);
  return examples;
}

}  // namespace hone::llm
