#include "engine/search/strategy/vndx_strategy.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "engine/search/strategy/moves.h"
#include "engine/search/strategy/unlocked.h"

namespace hone {
namespace {

constexpr std::size_t kPool = 8, kNeighbours = 4;  // of the pool, neighbours of the present recipe
constexpr std::size_t kElites = 5, kNearest = 5;
constexpr std::size_t kMostSteps = 10, kWalk = 4;
constexpr std::size_t kMostEvaluated = 512;  // that predictions are made of
/// In log(time ratio): at first what is a third slower is accepted every third time.
constexpr double kTemperature = 0.3, kCooling = 0.995;
constexpr double kReward = 1.1, kPunishment = 0.9, kLeastWeight = 0.1, kMostWeight = 10;
constexpr int kPatience = 100;      // rejections in a row
constexpr double kFailureTime = 2;  // times the reference's: near to failures is a bad place

}  // namespace

VndxStrategy::VndxStrategy(Space& space, std::uint64_t seed, double reference_time_us)
    : space_(space),
      reference_time_us_(reference_time_us),
      random_(seed),
      present_{{}, reference_time_us},
      temperature_(kTemperature) {
  FirstRecipes first = first_recipes(space_);
  pioneers_ = first.with_start;
  for (Recipe& recipe : first.recipes) opening_.push_back(std::move(recipe));
}

VndxStrategy::Traits VndxStrategy::traits_of(const Recipe& recipe) {
  Traits traits;
  const std::hash<std::string> hash;
  for (const Step& step : recipe) {
    const std::string place = step.rewriter + "@" + step.site;
    traits.push_back(hash(place));
    for (const auto& [name, value] : step.params)
      traits.push_back(hash(place + "." + name + "=" + to_string(value)));
  }
  std::ranges::sort(traits);
  return traits;
}

std::size_t VndxStrategy::difference(const Traits& a, const Traits& b) {
  Traits differ;
  std::ranges::set_symmetric_difference(a, b, std::back_inserter(differ));
  return differ.size();
}

std::size_t VndxStrategy::distance(const Recipe& a, const Recipe& b) {
  return difference(traits_of(a), traits_of(b));
}

Recipe VndxStrategy::ask() {
  Lock lock(mutex_);
  while (!opening_.empty()) {
    Recipe recipe = std::move(opening_.front());
    opening_.pop_front();
    if (asked_.insert(recipe_key(recipe)).second) return recipe;
  }
  std::vector<Idea> ideas = pool(lock);
  std::erase_if(ideas, [&](const Idea& idea) { return asked_.contains(recipe_key(idea.recipe)); });
  if (ideas.empty()) return walk(lock);
  std::vector<double> times;
  for (const Idea& idea : ideas) times.push_back(predicted(idea.recipe));
  const auto fastest = std::ranges::min_element(times) - times.begin();
  Idea& best = ideas[static_cast<std::size_t>(fastest)];
  const std::string key = recipe_key(best.recipe);
  asked_.insert(key);
  if (best.move) pending_[key] = *best.move;
  return std::move(best.recipe);
}

std::vector<VndxStrategy::Idea> VndxStrategy::pool(Lock& lock) {
  std::vector<Idea> ideas;
  const Recipe present = present_.recipe;
  for (std::size_t i = 0; i < kNeighbours; ++i) {
    const auto move = static_cast<Move>(random_.weighted({weights_.begin(), weights_.end()}));
    if (auto made = neighbour(lock, present, move)) ideas.push_back({std::move(*made), move});
  }
  if (elites_.size() >= 2) ideas.push_back({cross(), {}});
  while (ideas.size() < kPool) ideas.push_back({walk(lock), {}});
  for (Idea& idea : ideas) idea.recipe = repaired(space_, lock, idea.recipe);
  std::erase_if(ideas, [](const Idea& idea) { return idea.recipe.empty(); });
  return ideas;
}

std::optional<Recipe> VndxStrategy::neighbour(Lock& lock, const Recipe& of, Move move) {
  if (move == Move::kStep) return other_steps(lock, of);
  return other_value(lock, of, move == Move::kNeighbourValue);
}

std::optional<Recipe> VndxStrategy::other_value(Lock& lock, Recipe recipe, bool neighbour) {
  if (recipe.empty()) return std::nullopt;
  const std::size_t at = random_.index(recipe.size());
  const Recipe prefix(recipe.begin(), recipe.begin() + static_cast<std::ptrdiff_t>(at));
  const auto proposal = unlocked(lock, [&] { return space_.proposal_of(prefix, recipe[at]); });
  if (!proposal || !change_value(*proposal, neighbour ? 1 : 0, recipe[at], random_))
    return std::nullopt;
  return recipe;
}

std::optional<Recipe> VndxStrategy::other_steps(Lock& lock, Recipe recipe) {
  const bool longer = recipe.size() < 2 || (recipe.size() < kMostSteps && random_.chance(0.7));
  if (!longer) {
    recipe.erase(recipe.begin() + static_cast<std::ptrdiff_t>(random_.index(recipe.size())));
    return recipe;
  }
  const auto proposals = unlocked(lock, [&] { return space_.proposals(recipe); });
  if (proposals->empty()) return std::nullopt;
  recipe.push_back(random_step((*proposals)[random_.index(proposals->size())], random_));
  return recipe;
}

/// Each step of two elites with even odds, in the order of the first.
Recipe VndxStrategy::cross() {
  const Recipe& a = elites_[random_.index(elites_.size())].recipe;
  const Recipe& b = elites_[random_.index(elites_.size())].recipe;
  const auto same_place = [](const Step& x) {
    return [&x](const Step& y) { return x.rewriter == y.rewriter && x.site == y.site; };
  };
  Recipe child;
  for (const Step& step : a) {
    const auto other = std::ranges::find_if(b, same_place(step));
    const bool from_other = other != b.end() && random_.chance(0.5);
    if (other != b.end() || random_.chance(0.5)) child.push_back(from_other ? *other : step);
  }
  for (const Step& step : b)
    if (child.size() < kMostSteps && std::ranges::none_of(a, same_place(step)) &&
        random_.chance(0.5))
      child.push_back(step);
  return child;
}

Recipe VndxStrategy::walk(Lock& lock) {
  Recipe recipe;
  const std::size_t steps = 1 + random_.index(kWalk);
  while (recipe.size() < steps) {
    const auto proposals = unlocked(lock, [&] { return space_.proposals(recipe); });
    if (proposals->empty()) break;
    recipe.push_back(random_step((*proposals)[random_.index(proposals->size())], random_));
  }
  return recipe;
}

/// The mean log(time) of the nearest that were evaluated; of none: the reference's.
double VndxStrategy::predicted(const Recipe& recipe) const {
  const Traits traits = traits_of(recipe);
  std::vector<std::pair<std::size_t, double>> near;  // distance, log(time)
  for (const Evaluated& point : evaluated_)
    near.emplace_back(difference(traits, point.traits), point.log_time);
  if (near.empty()) return std::log(reference_time_us_);
  const std::size_t count = std::min(kNearest, near.size());
  std::ranges::partial_sort(near, near.begin() + static_cast<std::ptrdiff_t>(count));
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += near[i].second;
  return sum / static_cast<double>(count);
}

void VndxStrategy::tell(const Outcome& outcome) {
  const Lock lock(mutex_);
  const auto pending = pending_.find(recipe_key(outcome.recipe));
  std::optional<Move> move;
  if (pending != pending_.end()) {
    move = pending->second;
    pending_.erase(pending);
  }
  if (outcome.duplicate) return;
  remember(outcome);
  temperature_ *= kCooling;
  const bool accepted =
      outcome.verdict == Verdict::kOk && outcome.time_us > 0 && accepts(outcome.time_us);
  if (move) reward(*move, accepted);
  if (accepted) {
    present_ = {outcome.recipe, outcome.time_us};
    rejected_ = 0;
  } else if (++rejected_ >= kPatience) {
    restart();
  }
}

/// What is slower is accepted the less often, the slower it is and the later it comes.
bool VndxStrategy::accepts(double time_us) {
  const double slower = std::log(time_us / present_.time_us);
  return slower < 0 || random_.chance(std::exp(-slower / temperature_));
}

void VndxStrategy::remember(const Outcome& outcome) {
  const bool ok = outcome.verdict == Verdict::kOk && outcome.time_us > 0;
  const double time_us = ok ? outcome.time_us : kFailureTime * reference_time_us_;
  evaluated_.push_back({traits_of(outcome.recipe), std::log(time_us)});
  if (evaluated_.size() > kMostEvaluated) evaluated_.pop_front();
  if (!ok) return;
  const auto place =
      std::ranges::find_if(elites_, [&](const Point& p) { return outcome.time_us < p.time_us; });
  elites_.insert(place, {outcome.recipe, outcome.time_us});
  if (elites_.size() > kElites) elites_.pop_back();
}

void VndxStrategy::reward(Move move, bool accepted) {
  double& weight = weights_[static_cast<std::size_t>(move)];
  weight = std::clamp(weight * (accepted ? kReward : kPunishment), kLeastWeight, kMostWeight);
}

/// From the reference or one of the elites; what was evaluated stays known.
void VndxStrategy::restart() {
  const std::size_t from = random_.index(elites_.size() + 1);
  present_ = from < elites_.size() ? elites_[from] : Point{{}, reference_time_us_};
  temperature_ = kTemperature;
  rejected_ = 0;
}

}  // namespace hone
