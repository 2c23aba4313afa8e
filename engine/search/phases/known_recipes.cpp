#include "engine/search/phases/known_recipes.h"

#include <algorithm>
#include <cmath>

namespace hone::search {
namespace {

bool holds(const auto& list, const auto& one) { return std::ranges::find(list, one) != list.end(); }

constexpr int kOfEachTask = 3;
constexpr std::size_t kMost = 8;

/// How far apart two tasks of a family are: in each size, by what factor, as a sum of logarithms.
double distance(const Bindings& a, const Bindings& b) {
  double sum = 0;
  for (const auto& [name, size] : a) {
    const auto other = b.find(name);
    if (other == b.end() || size <= 0 || other->second <= 0) continue;
    sum += std::abs(std::log(static_cast<double>(size) / static_cast<double>(other->second)));
  }
  return sum;
}

}  // namespace

std::vector<Recipe> recipes_to_begin_with(SearchRun& run, const Task& task) {
  const SearchSettings& settings = run.options.settings;
  if (!settings.known) return {};
  auto known = run.journal.known_recipes(task, kOfEachTask);
  std::ranges::stable_sort(known, {},
                           [&](const KnownRecipe& one) { return distance(task.sizes, one.sizes); });
  const std::vector<std::string> not_to_use = left_out(settings);
  const auto usable = [&](const Recipe& recipe) {
    return !recipe.empty() && required_math(recipe) <= task.math &&
           std::ranges::none_of(recipe,
                                [&](const Step& step) { return holds(not_to_use, step.rewriter); });
  };
  std::vector<Recipe> first;
  for (KnownRecipe& one : known)
    if (first.size() < kMost && usable(one.recipe) && !holds(first, one.recipe))
      first.push_back(std::move(one.recipe));
  return first;
}

}  // namespace hone::search
