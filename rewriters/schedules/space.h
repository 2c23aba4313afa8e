// Adds parameters and their first values to an offer; points of a space by the values that they
// have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "rewriters/schedules/generator.h"

namespace hone::schedules {

/// The point at which every parameter has the value that `wanted` gives for its name; the first of
/// its domain where that is not in it.
template <typename Wanted>
[[nodiscard]] std::vector<std::size_t> point_of(const std::vector<Parameter>& space,
                                                const Wanted& wanted) {
  std::vector<std::size_t> point;
  for (const auto& [name, domain] : space) {
    const auto at = std::ranges::find(domain, wanted(name));
    point.push_back(at == domain.end() ? 0 : static_cast<std::size_t>(at - domain.begin()));
  }
  return point;
}

class SpaceBuilder {
 public:
  explicit SpaceBuilder(Offer& offer) : offer_(&offer) { offer.starts.resize(1); }

  /// `start` should be one of the values; else the first is.
  void values(std::string name, std::vector<ParameterValue> domain, const ParameterValue& start) {
    const auto place = std::ranges::find(domain, start);
    offer_->starts.front().push_back(
        place == domain.end() ? 0 : static_cast<std::size_t>(place - domain.begin()));
    offer_->parameters.push_back({std::move(name), std::move(domain)});
  }
  void numbers(std::string name, const std::vector<std::int64_t>& domain, std::int64_t start) {
    values(std::move(name), {domain.begin(), domain.end()}, start);
  }
  /// low, 2 * low, … up to high.
  void powers(std::string name, std::int64_t low, std::int64_t high, std::int64_t start) {
    std::vector<std::int64_t> domain;
    for (std::int64_t value = low; value <= high; value *= 2) domain.push_back(value);
    numbers(std::move(name), domain, start);
  }

 private:
  Offer* offer_;
};

}  // namespace hone::schedules
