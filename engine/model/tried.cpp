#include "engine/model/tried.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rewriters/llm/model_code.h"
#include "rewriters/llm/prompt/exemplars.h"

namespace hone::model {

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

TriedSet::TriedSet(Tried reference) { all_.push_back(std::move(reference)); }

void TriedSet::add(Tried tried) {
  if (tried.verdict != Verdict::kOk || tried.time_us <= 0) return;
  const std::lock_guard lock(mutex_);
  const auto place = std::ranges::upper_bound(all_, tried.time_us, {}, &Tried::time_us);
  all_.insert(place, std::move(tried));
  if (all_.size() <= kMost) return;
  // The one goes that says least beside its neighbours; neither the fastest nor the slowest.
  std::size_t least = 1;
  double closest = 1e300;
  for (std::size_t i = 1; i + 1 < all_.size(); ++i) {
    const double apart = std::log(all_[i + 1].time_us / all_[i - 1].time_us);
    if (apart >= closest || all_[i].recipe.empty()) continue;
    closest = apart;
    least = i;
  }
  all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(least));
}

Tried TriedSet::best() const {
  const std::lock_guard lock(mutex_);
  return all_.front();
}

Tried TriedSet::best_of_any_size() const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(all_, [](const Tried& tried) {
    return tried.recipe.empty() ||
           (tried.recipe.size() == 1 && tried.recipe.front().rewriter == kModelCode);
  });
  return *found;  // the reference is there always
}

std::vector<Tried> TriedSet::examples(std::size_t count, std::uint64_t seed) const {
  const std::lock_guard lock(mutex_);
  std::vector<double> times;
  for (std::size_t i = 1; i < all_.size(); ++i) times.push_back(all_[i].time_us);
  std::vector<std::size_t> chosen = llm::choose_exemplars(times, count, seed);
  std::ranges::sort(chosen, std::greater());
  std::vector<Tried> examples;
  for (const std::size_t i : chosen) examples.push_back(all_[i + 1]);
  return examples;
}

}  // namespace hone::model
