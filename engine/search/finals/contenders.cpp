#include "engine/search/finals/contenders.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace hone {

int most_registers(const Evaluation& evaluation) {
  int most = 0;
  for (const KernelResources& r : evaluation.resources) most = std::max(most, r.registers);
  return most;
}

Contender contender_of(const CandidateRecord& candidate, const Evaluation& evaluation) {
  return {candidate, evaluation.measurement.time_us, evaluation.code_hash,
          most_registers(evaluation), !evaluation.outpaced};
}

bool goes_before(const Contender& a, const Contender& b) {
  return std::tuple(a.time_us, a.candidate.recipe.size(), a.registers) <
         std::tuple(b.time_us, b.candidate.recipe.size(), b.registers);
}

void keep_a_checked_one(std::vector<Contender>& finalists, const std::vector<Contender>& ranked,
                        std::size_t wanted) {
  if (wanted < 2 || std::ranges::any_of(finalists, &Contender::checked)) return;
  const auto checked = std::ranges::find_if(ranked, &Contender::checked);
  if (checked == ranked.end()) return;
  if (finalists.size() >= wanted) finalists.resize(wanted - 1);
  finalists.push_back(*checked);
}

bool Contenders::add(Contender contender) {
  const auto same = std::ranges::find_if(ranked_, [&](const Contender& other) {
    return !contender.code_hash.empty() && other.code_hash == contender.code_hash;
  });
  if (same != ranked_.end()) {
    if (same->candidate.recipe.size() <= contender.candidate.recipe.size()) return false;
    ranked_.erase(same);
  }
  const auto place =
      std::ranges::find_if(ranked_, [&](const Contender& r) { return goes_before(contender, r); });
  const bool best = place == ranked_.begin();
  ranked_.insert(place, std::move(contender));
  if (ranked_.size() > kMost) ranked_.pop_back();
  return best;
}

}  // namespace hone
